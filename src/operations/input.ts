import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { sayFault } from '../lib/say-fault.ts';
import { mapTexts } from '../lib/text.ts';
import { type Call, fieldsOfPath, type Operation, type OperationContext } from './operation.ts';
import { refuseUnknown } from './pick-installs.ts';
import { theInstall } from './values.ts';

/** A field of the input, which a path, a query, a form and a command line write as text. */
export interface Field {
  /** Only JSON can write a nested field. */
  type: 'text' | 'number' | 'flag' | 'list' | 'nested';
  isRequired: boolean;
  /** The allowed words; undefined if any text is allowed. */
  choices: readonly string[] | undefined;
  /** Of a list. */
  items?: Field;
  /** The default. */
  preset: unknown;
  /** Whether a command line names a file that has it. */
  isFile?: boolean;
  /** Whether it names a folder. The field has the text of each file by its path. */
  isFolder?: boolean;
  description: string;
}

/** The fields of an object, or of all members of a union. */
export function fieldsOf(schema: z.ZodType): Map<string, Field> {
  if (schema instanceof z.ZodUnion) {
    const members = (schema.options as z.ZodType[]).flatMap((member) => [...fieldsOf(member)]);
    return new Map(members.map(([name, field]) => [name, { ...field, isRequired: false }]));
  }
  const { shape } = schema as z.ZodObject;
  return new Map(Object.entries(shape).map(([name, one]) => [name, fieldOf(one as z.ZodType)]));
}

function fieldOf(schema: z.ZodType): Field {
  const { description = '' } = schema;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    const inner = fieldOf(schema.unwrap() as z.ZodType);
    return { ...inner, isRequired: false, description: description || inner.description };
  }
  if (schema instanceof z.ZodDefault) {
    const inner = fieldOf(schema.unwrap() as z.ZodType);
    const preset = schema.def.defaultValue;
    return { ...inner, isRequired: false, preset, description: description || inner.description };
  }
  const field: Field = { type: 'text', isRequired: true, choices: undefined, preset: undefined, description };
  if (schema instanceof z.ZodArray) return toList(field, fieldOf(schema.element as z.ZodType));
  const { isFile = false, isFolder = false } = schema.meta() ?? {};
  return {
    ...field,
    type: typeOf(schema),
    choices: choicesOf(schema),
    isFile: isFile === true,
    isFolder: isFolder === true,
  };
}

function toList(field: Field, items: Field): Field {
  return { ...field, type: items.type === 'nested' ? 'nested' : 'list', choices: items.choices, items };
}

function typeOf(schema: z.ZodType): Field['type'] {
  if (schema instanceof z.ZodNumber) return 'number';
  if ([z.ZodObject, z.ZodRecord, z.ZodUnknown].some((nested) => schema instanceof nested)) return 'nested';
  const isTrue = schema instanceof z.ZodLiteral && schema.value === true;
  return isTrue || schema instanceof z.ZodBoolean ? 'flag' : 'text';
}

function choicesOf(schema: z.ZodType): readonly string[] | undefined {
  return schema instanceof z.ZodEnum ? schema.options.map(String) : undefined;
}

export function hasPages({ in: schema }: Operation): boolean {
  return schema instanceof z.ZodObject && 'cursor' in schema.shape;
}

/** Whether a command line may leave out the install if there is only one. */
export function mayLeaveOutInstall({ in: schema }: Operation): boolean {
  return schema instanceof z.ZodObject && schema.shape['install'] === theInstall;
}

const limitOfPages = z.int().min(1).max(100_000).default(100).describe('How many at most.');

/** The input of the command. Its limit of a list may span many pages. */
export function inputOfCommand(operation: Operation): z.ZodType<object> {
  if (!hasPages(operation)) return operation.in;
  return (operation.in as unknown as z.ZodObject).extend({ limit: limitOfPages });
}

/** Converts texts to the types of the schema. A text that does not fit stays, so that the schema refuses it. */
export function fromTexts(
  schema: z.ZodType,
  texts: Readonly<Record<string, string | readonly string[]>>,
): Record<string, unknown> {
  const fields = fieldsOf(schema);
  return Object.fromEntries(Object.entries(texts).map(([name, given]) => [name, fromText(fields.get(name), given)]));
}

function fromText(field: Field | undefined, given: string | readonly string[]): unknown {
  if (field?.type === 'list') return [given].flat().map((one) => fromText(field.items, one));
  if (typeof given !== 'string') return given;
  if (field?.type === 'number') return toNumber(given);
  if (field?.type === 'flag' && ['true', 'false'].includes(given)) return given === 'true';
  return given;
}

function toNumber(text: string): number | string {
  return /^(0|[1-9]\d{0,14})(\.\d{1,9})?$/.test(text) ? Number(text) : text;
}

/** Splits the input into what the path has, and what the query or the body has. */
export function splitInput({ path, in: schema }: Operation): { params: z.ZodObject; rest: z.ZodType<object> } {
  const names = fieldsOfPath(path);
  if (names.length === 0) return { params: z.strictObject({}), rest: schema };
  const { shape } = schema as unknown as z.ZodObject;
  const fields = Object.entries(shape);
  const isInPath = ([name]: [string, unknown]) => names.includes(name);
  return {
    params: z.strictObject(Object.fromEntries(fields.filter(isInPath))),
    rest: z.strictObject(Object.fromEntries(fields.filter((field) => !isInPath(field)))),
  };
}

const mostNamed = 5;

/**
 * @param nameOf how the caller writes a field, such as `--state`
 * @throws AppError `invalid`, naming each field
 */
export function checkInput<T>(
  schema: z.ZodType<T>,
  input: unknown,
  nameOf: (field: string) => string = (field) => field,
): T {
  const checked = schema.safeParse(input, { error: sayFault });
  if (checked.success) return checked.data;
  const faults = checked.error.issues.slice(0, mostNamed).map((issue) => sayIssue(issue, nameOf));
  throw new AppError('invalid', maskText(faults.join('; ')));
}

type Issue = z.core.$ZodIssue;

function sayIssue(issue: Issue, nameOf: (field: string) => string): string {
  const [field, ...deeper] = issue.path.map(String);
  if (issue.code === 'invalid_union') return sayUnion(issue, nameOf);
  if (issue.code === 'unrecognized_keys') return `${issue.keys.map(nameOf).join(', ')} cannot be given here`;
  return field === undefined ? issue.message : `${[nameOf(field), ...deeper].join('.')} ${issue.message}`;
}

/** The fault of the member that fits best; or the fields to choose from, if the input fits several members alike. */
function sayUnion(issue: Issue & { code: 'invalid_union' }, nameOf: (field: string) => string): string {
  const isStrange = ({ code }: Issue) => code === 'unrecognized_keys';
  const members = issue.errors.filter((issues) => !issues.some(isStrange));
  const [best, other] = members.length > 0 ? members : issue.errors;
  if (best?.[0] === undefined) return issue.message;
  if (other === undefined || members.length === 0) return sayIssue(best[0], nameOf);
  return `one of these is required: ${members.map(([first]) => nameOf(String(first?.path[0]))).join(', ')}`;
}

/**
 * Runs an operation and cuts its answer to the documented fields, so that no new column of a table gets out unnoticed.
 * Every text is masked, because strangers choose names, and tools may use addresses as ids.
 *
 * @param input checked by the operation's schema
 */
export async function answer(
  operation: Operation,
  input: object,
  ctx: OperationContext,
  call: Call,
): Promise<Record<string, unknown>> {
  if (mayLeaveOutInstall(operation)) refuseUnknown(ctx, input);
  const cut = operation.out.safeParse(await operation.run(input, ctx, call));
  if (!cut.success) {
    const [issue] = cut.error.issues;
    throw new AppError('internal', `The answer of ${operation.id} is not as documented at ${issue?.path.join('.')}`);
  }
  // Only now, because what is stored about a removed install can still be listed.
  if (isEmptyList(operation, cut.data)) refuseUnknown(ctx, input);
  const isWhole = operation.isSecret || (operation.isPersonal && call.role === 'operator');
  return isWhole ? cut.data : (mapTexts(cut.data, (text) => maskText(text)) as Record<string, unknown>);
}

function isEmptyList({ method, show }: Operation, answer: object): boolean {
  return method === 'get' && 'rowsOf' in show && show.rowsOf(answer).length === 0;
}
