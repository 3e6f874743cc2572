import { z } from 'zod';
import { loggedCallId, type AccessLogFields } from '@crs/kit/http/access-log';
import type { OAuthScope } from '@crs/kit/rpc/scopes';
import type { Context, ToolCall } from '../context.ts';

/** A tool, independent of any SDK. */
export interface Tool<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> {
  name: string;
  title: string;
  /** Written for a model that chooses among tools. */
  description: string;
  scope: OAuthScope;
  input: Input;
  output: Output;
  run(context: Context, input: z.output<Input>, call: ToolCall): Promise<z.input<Output>>;
  /** The ids of the rows of a result, for the log. Absent: the tool isn't a list. */
  ids?: (value: z.output<Output>) => string[];
  /** The maximum size, in characters, of results that hosts should pass on to the model. Absent: the host's own limit, which may cut a long result. */
  maxResultChars?: number;
  /** What a model should know about the result for these arguments, if anything: a second text in the result. */
  hint?: (input: z.output<Input>) => string | undefined;
}

/** Defines a tool, so that TypeScript checks `run` against `input` and `output`. */
export function tool<Input extends z.ZodType, Output extends z.ZodType>(definition: Tool<Input, Output>): Tool {
  return definition;
}

/** The arguments of a call for the log: ids, enum values, and values that aren't text. Any other text, such as a cursor, is logged as `true`. */
export function argumentFields({ input }: Tool, given: unknown): Pick<AccessLogFields, 'call_id' | 'project_id' | 'query'> {
  const { call_id: callId, project_id, ...rest } = given as Record<string, unknown> & { call_id?: string; project_id?: string };
  const { shape } = input as z.ZodObject;
  const query = Object.entries(rest).map(([name, value]) => [
    name,
    typeof value === 'string' && !isClosedList(shape[name]) ? true : value,
  ]);
  return {
    call_id: callId === undefined ? undefined : loggedCallId(callId),
    project_id,
    query: Object.fromEntries(query) as AccessLogFields['query'],
  };
}

function isClosedList(schema: z.core.$ZodType): boolean {
  const { def } = schema._zod;
  return 'innerType' in def ? isClosedList(def.innerType as z.core.$ZodType) : def.type === 'enum';
}

export function describeTool({ name, title, description, input, output, maxResultChars }: Tool) {
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input, 'input'),
    outputSchema: schemaOf(output, 'output'),
    annotations: { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    // Claude's hosts read it.
    ...(maxResultChars !== undefined && { _meta: { 'anthropic/maxResultSizeChars': maxResultChars } }),
  };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output') {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return { type: 'object' as const, ...json };
}

export const nullableString = z.string().nullable();
export const nullableNumber = z.number().nullable();
export const nextCursor = z.string().nullable().describe('Opaque. Pass as cursor for the next page; null on the last.');
