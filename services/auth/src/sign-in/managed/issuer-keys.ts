import { createLocalJWKSet, type CompactVerifyGetKey, type JSONWebKeySet } from 'jose';
import * as oidc from 'openid-client';
import type { SignInContext } from '../context.ts';
import { allowedHosts } from '../federation/relying-party.ts';
import { FetchPool } from '../fetch-pool.ts';
import { guardedFetch } from '@crs/kit/http/guarded-fetch';

/** An issuer's published metadata and keys. */
interface Published {
  /** The issuer, spelled as it spells itself. */
  issuer: string;
  keys: JSONWebKeySet;
}

export interface IssuerKeys extends Pick<Published, 'issuer'> {
  keyOf: CompactVerifyGetKey;
}

interface Known extends IssuerKeys {
  fetchedAt: number;
  /** The latest fetch because of an unknown key, whether or not it succeeded. */
  refetchedAt: number;
}

/** An issuer that withdraws a key is obeyed after this time. */
const MAX_AGE_MS = 600_000;
/** An assertion with an unknown key makes us fetch the issuer's keys again, but anybody can name an unknown key. */
const REFETCH_MS = 60_000;
const MAX_ISSUERS = 1_000;

/** Fetches and caches the keys of issuers of identity assertions, in the same way as those of OpenID providers. */
export class IssuerKeyCache {
  readonly #context: SignInContext;
  /** By organization, as for OpenID providers, so that a silent issuer doesn't stop the assertions of other organizations. */
  readonly #fetches = new FetchPool({ total: 16, perKey: 4, urlsPerKey: 4 });
  readonly #known = new Map<string, Known>();

  constructor(context: SignInContext) {
    this.#context = context;
  }

  /** @throws what the fetch throws */
  async get(organization: string, issuer: string): Promise<IssuerKeys> {
    const known = this.#known.get(keyOf(organization, issuer));
    if (known && Date.now() - known.fetchedAt < MAX_AGE_MS) return known;
    return this.#fetch(organization, issuer, known?.refetchedAt ?? 0);
  }

  /** Fetches the keys again because of an unknown key. Undefined: that happened a moment ago. @throws what the fetch throws */
  async getNewer(organization: string, issuer: string): Promise<IssuerKeys | undefined> {
    const known = this.#known.get(keyOf(organization, issuer));
    const now = Date.now();
    if (known && now - known.refetchedAt < REFETCH_MS) return undefined;
    if (known) known.refetchedAt = now;
    return this.#fetch(organization, issuer, now);
  }

  async #fetch(organization: string, issuer: string, refetchedAt: number): Promise<IssuerKeys> {
    const fetchedAt = Date.now();
    const response = await this.#fetches.fetch(organization, issuer, async () =>
      Response.json(await this.#fetchPublished(organization, issuer)),
    );
    const published = (await response.json()) as Published;
    const fetched = { issuer: published.issuer, keyOf: createLocalJWKSet(published.keys), fetchedAt, refetchedAt };
    if (this.#known.size >= MAX_ISSUERS) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(keyOf(organization, issuer), fetched);
    return fetched;
  }

  async #fetchPublished(organization: string, issuer: string): Promise<Published> {
    const { oidcAllowHosts, proxyUrl } = this.#context;
    const options = { allowHosts: allowedHosts(oidcAllowHosts, organization, issuer), proxyUrl };
    // The client id is of no consequence, because only metadata is fetched.
    const configuration = await oidc.discovery(new URL(issuer), 'none', undefined, oidc.None(), {
      [oidc.customFetch]: (url) => guardedFetch(url, options),
    });
    const { issuer: spelled, jwks_uri: keysUrl } = configuration.serverMetadata();
    if (new URL(spelled).href !== new URL(issuer).href) throw new Error('the issuer names another issuer in its metadata');
    if (keysUrl === undefined) throw new Error('the metadata of the issuer names no keys');
    const response = await guardedFetch(keysUrl, options);
    if (response.status !== 200) throw new Error(`the keys of the issuer could not be fetched: status ${response.status}`);
    return { issuer: spelled, keys: (await response.json()) as JSONWebKeySet };
  }
}

function keyOf(organization: string, issuer: string): string {
  return `${organization} ${issuer}`;
}
