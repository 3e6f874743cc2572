/** How dependencies are read when pnpm resolves them. */
export const hooks = {
  readPackage(manifest) {
    // The docs page serves its standalone bundle, which holds all that it needs: its 250 packages would be installed for nothing.
    if (manifest.name === '@scalar/api-reference') manifest.dependencies = {};
    return manifest;
  },
};
