import type { SendStatements } from '@crs/testing/tenant-rows';
import { statements as ofAuth } from '../../services/auth/test/_statements.ts';
import { statements as ofCalls } from '../../services/calls/test/_statements.ts';
import { statements as ofEntities } from '../../services/entities/test/_statements.ts';
import { statements as ofProjects } from '../../services/projects/test/_statements.ts';
import { statements as ofWebhooks } from '../../services/webhooks/test/_statements.ts';

/** A service, and its statements on tables of organizations. */
export interface Service {
  name: string;
  statements: SendStatements[];
  /** The statements that reach rows of other organizations, on tables without row-level security: auth finds the organization of a key, a domain or an issuer there, and webhooks what is due. */
  unprotected?: string[];
  /** Statements for operators above organizations, or for all organizations. They have no predicate on one. */
  ofAll?: string[];
  /** Statements that use only a table's columns, not its rows. */
  withoutRows?: string[];
}

export const SERVICES: Service[] = [
  {
    name: 'auth',
    statements: ofAuth,
    unprotected: [
      'claim_domains',
      'claim_issuers',
      'find_domain_owner',
      'find_issuer_owner',
      'insert_key_directory',
      'insert_scim_token_directory',
      'look_up_key',
      'look_up_scim_token',
      'release_domains',
      'release_issuers',
      'remove_keys',
      'remove_scim_tokens',
    ],
    ofAll: [
      'delete_old_audit',
      'list_settings_versions',
      'count_encrypted_organizations',
      'encrypted_under_organizations',
      'not_encrypted_under_organizations',
      'replace_encrypted_organizations',
    ],
  },
  {
    name: 'calls',
    statements: ofCalls,
    unprotected: ['erase_feed_head', 'list_feed_heads', 'put_feed_head'],
    withoutRows: ['stage_calls', 'stage_notes'],
  },
  { name: 'entities', statements: ofEntities },
  { name: 'projects', statements: ofProjects },
  {
    name: 'webhooks',
    statements: ofWebhooks,
    unprotected: [
      'claim_due',
      'delete_due',
      'delete_leased',
      'erase_due',
      'insert_due',
      'list_due',
      'release_due',
      'wake_by_feed_position',
      'wake_by_settings_version',
    ],
  },
];
