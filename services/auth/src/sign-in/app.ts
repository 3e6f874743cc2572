import type { RequestListener } from 'node:http';
import express, { type Request, type Response } from 'express';
import type Provider from 'oidc-provider';
import { createHttpApp } from '@crs/kit/http/app';
import { stateOf } from '@crs/kit/http/request';
import { Connections } from './connections.ts';
import { SCIM_PATH, scimRoutes } from '../scim/routes.ts';
import type { SignInContext } from './context.ts';
import { Federation } from './federation/federation.ts';
import { Interactions } from './interactions.ts';
import { assistantsPage } from './pages/assistants.ts';
import { PAGE_HEADERS, sendPage } from './pages/headers.ts';
import { pageErrorHandler, PageError } from './page-error.ts';
import { createProvider } from './provider.ts';
import { adaptAuthorization, limitRegistrations } from './registration.ts';
import { forwardedAddress, limitParameters, pinOrigin, visitOf, type Visit } from './request.ts';

const TIMEOUT_MS = 15_000;

/** The only paths that reach oidc-provider. */
const PROTOCOL_PATHS = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/authorize',
  '/authorize/:uid',
  '/token',
  '/register',
  '/revoke',
  '/jwks',
];

/** The HTTP listener of auth: the authorization server, its pages, and `/connections`. */
export function createSignInApp(context: SignInContext): RequestListener {
  const federation = new Federation(context);
  const interactions = new Interactions(context, federation);
  const connections = new Connections(context, federation);
  const currentProvider = currentProviderOf(context);
  const { app, listener } = createHttpApp({
    name: 'auth',
    log: context.log,
    timeoutOf: () => TIMEOUT_MS,
    addressOf: forwardedAddress,
    isInternal: true,
  });
  app.use(SCIM_PATH, scimRoutes(context));
  app.use(pinOrigin(context.issuer));
  app.use(limitParameters);

  const page = (method: 'get' | 'post', path: string, handle: (visit: Visit) => Promise<void>) => {
    const parse = method === 'post' ? [express.urlencoded({ extended: false, limit: '16kb' })] : [];
    app[method](path, ...parse, async (request: Request, response: Response) => {
      stateOf(response).route = path;
      await handle(visitOf(context.issuer, request, response, (await currentProvider()).provider));
    });
  };
  page('get', '/sign-in/callback/:organization', async (visit) => {
    const result = await federation.finish(visit);
    await (result.uid === undefined ? connections : interactions).resume(visit, result);
  });
  page('get', '/', async ({ response }) => {
    sendPage(response, PAGE_HEADERS, assistantsPage({ address: context.accessTokens.audience }));
  });
  page('get', '/sign-in/:uid', (visit) => interactions.show(visit));
  page('post', '/sign-in/:uid', (visit) => interactions.submit(visit));
  page('get', '/connections', (visit) => connections.show(visit));
  page('post', '/connections/sign-in', (visit) => connections.signIn(visit));
  page('post', '/connections/tokens', (visit) => connections.createToken(visit));
  page('post', '/connections/revoke', (visit) => connections.revoke(visit));
  page('post', '/connections/sign-out', (visit) => connections.signOut(visit));

  app.all('/authorize', adaptAuthorization);
  app.post('/register', limitRegistrations(context));
  for (const path of PROTOCOL_PATHS) {
    app.all(path, async (request: Request, response: Response) => {
      stateOf(response).route = path;
      await (await currentProvider()).handle(request, response);
    });
  }
  app.use(() => {
    throw new PageError(404, 'Page not found', 'Check the address, or go back to your assistant and connect again.');
  });
  app.use(pageErrorHandler(context.log));
  return listener;
}

/** Replaces the provider when the signing keys change, because it reads them once. All its state is in the database. */
function currentProviderOf(context: SignInContext) {
  let current: { keys: string; provider: Provider; handle: ReturnType<Provider['callback']> } | undefined;
  return async () => {
    const pairs = await context.accessTokens.keys();
    const keys = pairs.map(({ keyId }) => keyId).join();
    if (current?.keys !== keys) {
      const provider = createProvider(context, pairs);
      current = { keys, provider, handle: provider.callback() };
    }
    return current;
  };
}
