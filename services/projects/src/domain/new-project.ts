import { createHash } from 'node:crypto';
import { invalid } from '@crs/kit/errors';
import { compareCodePoints, fold, isEmail, lengthOf, unstorable } from '@crs/kit/text';
import type { CreateProjectRequest } from '@crs/proto/crs/projects/v1/projects';

/** A request to create a project, normalized, so that requests for the same project are equal. */
export interface NewProject {
  name: string;
  /** Folded. */
  lead: string;
  /** Folded, ordered by code point, without the lead. */
  members: string[];
  /** Null: the default office, or none. */
  billingOfficeName: string | null;
  summary: string | null;
}

const MAX_MEMBERS = 100;
const MAX_NAME = 200;
const MAX_SUMMARY = 2_000;

/** Validates the request, but not whether people and offices exist. @throws ServiceError invalid_argument that names the field */
export function parseNewProject(request: CreateProjectRequest): NewProject {
  const name = storable('name', request.name).trim();
  if (name === '' || lengthOf(name) > MAX_NAME)
    throw invalid('name', `must have 1 to ${MAX_NAME} characters besides white space at its ends`);
  if (request.memberEmails.length > MAX_MEMBERS) throw invalid('member_emails', `must be at most ${MAX_MEMBERS}`);
  const lead = email('lead_email', request.leadEmail);
  const members = new Set(request.memberEmails.map((address, i) => email(`member_emails[${i}]`, address)));
  members.delete(lead);
  const summary = request.summary === undefined ? null : storable('summary', request.summary);
  if (summary !== null && lengthOf(summary) > MAX_SUMMARY)
    throw invalid('summary', `must have at most ${MAX_SUMMARY} characters`);
  const office = request.billingOfficeName;
  return {
    name,
    lead,
    members: [...members].toSorted(compareCodePoints),
    billingOfficeName: office === undefined ? null : storable('billing_office_name', office),
    summary,
  };
}

function storable(field: string, text: string): string {
  const problem = unstorable(text);
  if (problem) throw invalid(field, problem);
  return text;
}

function email(field: string, text: string): string {
  const trimmed = storable(field, text).trim();
  if (!isEmail(trimmed)) throw invalid(field, 'must be an e-mail address of 3 to 254 characters');
  return fold(trimmed);
}

/** SHA-256 of the normalized request, which must be equal for requests with the same idempotency key. */
export function bodyHash({ name, lead, members, billingOfficeName, summary }: NewProject): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([name, lead, members, billingOfficeName, summary]))
    .digest();
}
