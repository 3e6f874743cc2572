/** Environment variables that programs started by tests inherit. With its compile cache, Node starts much faster. */
export const INHERITED = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };
