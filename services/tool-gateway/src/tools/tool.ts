import { z } from 'zod';
import type { OAuthScope } from '@crs/kit/product/scopes';
import type { Context, ToolCall } from '../context.ts';

/** A tool, independent of any SDK: its description for models, its arguments and answer, and its code. */
export interface Tool<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> {
  name: string;
  title: string;
  /** Written for a model that chooses among tools. */
  description: string;
  scope: OAuthScope;
  input: Input;
  output: Output;
  run(context: Context, input: z.output<Input>, call: ToolCall): Promise<z.input<Output>>;
}

/** Defines a tool. It makes TypeScript check `run` against `input` and `output`. */
export function tool<Input extends z.ZodType, Output extends z.ZodType>(definition: Tool<Input, Output>): Tool {
  return definition;
}

/** A tool as `tools/list` shows it. */
export function describeTool({ name, title, description, input, output }: Tool) {
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input, 'input'),
    outputSchema: schemaOf(output, 'output'),
    annotations: { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output') {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return { type: 'object' as const, ...json };
}

export const nullableString = z.string().nullable();
export const nullableNumber = z.number().nullable();
export const nextCursor = z.string().nullable().describe('Pass as cursor for the next page; null on the last.');
