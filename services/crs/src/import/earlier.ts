import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { fold, parseUuid } from '@crs/kit/text';
import type { EarlierLines } from '@crs/proto/crs/imports/v1/imports';
import type { Batch } from './run.ts';

/** The rows that a file's lines would have left, as far as later lines may refer to them. */
interface Left {
  deleted: boolean;
  stored: boolean;
  hasPassword: boolean;
  /** Of an organization. */
  title: string | null;
}

const MISSING: Left = { deleted: false, stored: false, hasPassword: false, title: null };

type Kind = 'organization' | 'user' | 'project' | 'billing_office';

/** Beyond this, SQLite uses a temporary file. */
const MEMORY_KIB = 65_536;

/** Remembers what the good lines of a file would have stored and deleted. The memory that this takes doesn't grow with the file. */
export class EarlierIndex {
  // An empty name makes a database that SQLite deletes when it is closed.
  readonly #db = new DatabaseSync('');
  readonly #find: StatementSync;
  readonly #put: StatementSync;

  constructor() {
    this.#db.exec(`pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -${MEMORY_KIB};
      create table earlier (organization text, kind text, name text, deleted integer, stored integer, has_password integer, title text,
        primary key (organization, kind, name)) without rowid`);
    this.#find = this.#db.prepare(`select deleted, stored, has_password, title from earlier
      where organization = ? and kind = ? and name = ?`);
    this.#put = this.#db.prepare('insert or replace into earlier values (?, ?, ?, ?, ?, ?, ?)');
  }

  /** The rows that the noted lines leave, of those that a batch names. */
  of({ organization, lines }: Batch): EarlierLines {
    const emails = new Set<string>();
    const projects = new Set<string>();
    const offices = new Set<string>();
    for (const { json } of lines) {
      const line = parse(json);
      for (const holder of [line, ...objectsOf(line['members']), ...objectsOf(line['notes'])]) {
        for (const name of ['email', 'created_by', 'conducted_by']) {
          const email = holder[name];
          if (typeof email === 'string') emails.add(fold(email));
        }
      }
      for (const id of [line['id'], line['project_id']]) {
        const projectId = typeof id === 'string' ? parseUuid(id) : undefined;
        if (projectId) projects.add(projectId);
      }
      const office = line['billing_office_name'];
      if (typeof office === 'string') offices.add(office);
    }
    const all = (kind: Kind, names: Set<string>) =>
      [...names].flatMap((name) => {
        const left = this.#get(organization, kind, name);
        return left ? { name, ...left } : [];
      });
    const known = this.#get(organization, 'organization', organization);
    return {
      organization: known && { name: known.title ?? undefined },
      users: all('user', emails).map(({ name, deleted, stored, hasPassword }) => ({ email: name, deleted, stored, hasPassword })),
      projects: all('project', projects).map(({ name, deleted, stored }) => ({ projectId: name, deleted, stored })),
      billingOffices: all('billing_office', offices).map(({ name }) => name),
    };
  }

  /** Notes the lines of a batch but for the refused ones. */
  note({ organization, service, lines }: Batch, refused: ReadonlySet<number>): void {
    // Nothing refers to a call or an entity.
    if (service === 'calls' || service === 'entities') return;
    for (const { number, json } of lines) {
      if (!refused.has(number)) this.#note(organization, parse(json));
    }
  }

  #note(organization: string, line: Record<string, unknown>): void {
    const text = (field: string) => (typeof line[field] === 'string' ? line[field] : '');
    const [kind, name]: [Kind, string] =
      line['type'] === 'organization'
        ? ['organization', organization]
        : line['type'] === 'user'
          ? ['user', fold(text('email'))]
          : line['type'] === 'project'
            ? ['project', parseUuid(text('id')) ?? '']
            : ['billing_office', text('name')];
    const before = this.#get(organization, kind, name) ?? MISSING;
    const left: Left =
      line['deleted'] === true
        ? { ...MISSING, deleted: true }
        : {
            deleted: before.deleted,
            stored: true,
            hasPassword: before.hasPassword || text('password') !== '',
            title: kind === 'organization' ? text('name') || before.title : null,
          };
    const flags = [left.deleted, left.stored, left.hasPassword].map(Number);
    this.#put.run(organization, kind, name, ...(flags as SQLInputValue[]), left.title);
  }

  #get(organization: string, kind: Kind, name: string): Left | undefined {
    const row = this.#find.get(organization, kind, name);
    if (!row) return undefined;
    return {
      deleted: row['deleted'] === 1,
      stored: row['stored'] === 1,
      hasPassword: row['has_password'] === 1,
      title: row['title'] as string | null,
    };
  }

  close(): void {
    this.#db.close();
  }
}

/** A line that was routed is an object. Its fields may be anything. */
function parse(json: Uint8Array): Record<string, unknown> {
  return JSON.parse(Buffer.from(json).toString()) as Record<string, unknown>;
}

function objectsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value)
    ? value.filter((each): each is Record<string, unknown> => typeof each === 'object' && each !== null)
    : [];
}
