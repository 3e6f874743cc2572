import type { RequestListener } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type Provider from 'oidc-provider';
import { originForm, stateOf, traceRequests } from '@crs/kit/http/request';
import { Connections } from './connections.ts';
import type { SignInContext } from './context.ts';
import { CALLBACK_PATH, Federation } from './federation/federation.ts';
import { Interactions } from './interactions.ts';
import { pinOrigin } from './origin.ts';
import { answerProblems, notFound } from './problem.ts';
import { createProvider } from './provider.ts';
import { defaultScopes, limitRegistrations } from './registration.ts';

const TIMEOUT_MS = 15_000;

/** What oidc-provider answers; nothing else of it is reachable. */
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

/** The HTTP side of auth: the authorization server, its pages, and the user's connections. */
export function createSignInApp(context: SignInContext): RequestListener {
  const federation = new Federation(context);
  const interactions = new Interactions(context, federation);
  const connections = new Connections(context, federation);
  const provider = lazyProvider(context);
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(traceRequests('auth', context.log, () => TIMEOUT_MS, { isInner: true }));
  app.use(pinOrigin(context.issuer));

  type Handler = (provider: Provider, request: Request, response: Response) => Promise<void> | void;
  const page = (method: 'get' | 'post', path: string, handle: Handler) => {
    const parse = method === 'post' ? [express.urlencoded({ extended: false, limit: '16kb' })] : [];
    app[method](path, ...parse, async (request: Request, response: Response) => {
      stateOf(response).route = path;
      await handle(await provider(), request, response);
    });
  };
  page('get', CALLBACK_PATH, async (oidc, request, response) => {
    const finished = await federation.finish(oidc, request, response);
    await (finished.uid === undefined ? connections : interactions).resume(oidc, request, response, finished);
  });
  page('get', '/sign-in/:uid', interactions.show.bind(interactions));
  page('post', '/sign-in/:uid', interactions.submit.bind(interactions));
  page('get', '/connections', connections.show.bind(connections));
  page('post', '/connections/sign-in', connections.signIn.bind(connections));
  page('post', '/connections/revoke', connections.revoke.bind(connections));
  page('post', '/connections/sign-out', connections.signOut.bind(connections));

  app.all('/authorize', defaultScopes);
  app.post('/register', limitRegistrations(context));
  let answer: ReturnType<Provider['callback']> | undefined;
  for (const path of PROTOCOL_PATHS) {
    app.all(path, async (request: Request, response: Response) => {
      stateOf(response).route = path;
      answer ??= (await provider()).callback();
      await answer(request, response);
    });
  }
  app.use((_request: Request, _response: Response, next: NextFunction) => next(notFound()));
  app.use(answerProblems(context.log));
  return (request, response) => {
    request.url = originForm(request.url);
    app(request, response);
  };
}

/** Made with the first request: its keys are in the database, which may come after us. */
function lazyProvider(context: SignInContext): () => Promise<Provider> {
  let made: Promise<Provider> | undefined;
  return () => {
    made ??= context.accessTokens.privateJwks().then((keys) => createProvider(context, keys));
    made.catch(() => (made = undefined));
    return made;
  };
}
