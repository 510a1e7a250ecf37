import { z } from 'zod';
import type { Reason } from './refusals.ts';

/**
 * The marketplace's API, said once as data: the client, both sources, `gangway marketplace`, the sandbox and the
 * reference follow from it. It imports nothing of the program but domain, so that the sandbox can share it.
 *
 * An operation is declared from the specification (spec: part A, part B, platform-api.md, employer-api.md). What the
 * specification names but does not show is marked `assumed`, with what is assumed.
 */
export interface Operation<
  Address extends string = string,
  In extends z.ZodObject = z.ZodObject,
  Out extends z.ZodType = z.ZodType,
> {
  /** The family and the name: `tokens.create`. */
  id: string;
  family: string;
  name: string;
  api: Api;
  /** The method and the path below the API's base: `GET /contracts/{contractId}`. */
  address: Address;
  /** What it does, for help and errors: "create a token". */
  purpose: string;
  /** Of the specification: `A 4.2`. */
  section: string;
  credential: Credential;
  /** All are needed; `|` separates alternatives. A `:write` scope includes its `:read`. */
  scopes: readonly string[];
  /** The feature that the account needs. */
  feature?: string;
  /** The role that the caller needs in the workspace. */
  role?: 'OWNER' | 'EDITOR' | 'REVIEWER';
  /** Whether a person must have claimed the account. */
  needsClaim: boolean;
  /** The query of a GET or DELETE, otherwise the body. The fields of the path are not in it. */
  in: In;
  /** Whether the body is refused if it has an unknown field. */
  isStrict: boolean;
  /** Other names of fields that the marketplace accepts, with the field that each means. */
  aliases?: Record<string, string>;
  /** The answer. Tolerant of new fields and new words. */
  out: Out;
  status: 200 | 201;
  /** Whether it answers 202 with an approval if a person must confirm it. */
  isConfirmed: boolean;
  errors: 'envelope' | 'oauth';
  /** The field of the answer that is a list with pages. */
  pages?: string | undefined;
  /**
   * How a repeated request is kept from acting twice. `none`: it may act twice, so it is never retried; by default a POST
   * with the status 201.
   */
  idempotency: 'header' | 'body' | 'nature' | 'none';
  /** What it cannot exceed, in words. */
  limits: readonly string[];
  /** The refusals with a `details.reason`, or an OAuth error, that it may answer with. */
  reasons: readonly Reason[];
  /** Refusals without a reason, by status, besides those of gates, ids and malformed input. */
  refusals: readonly number[];
  /** Deletes, ends, archives or revokes something. */
  isFinal: boolean;
  /** What Gangway does itself for an install: the command to use instead of a raw call that changes something. */
  own?: string;
  /** What is assumed, because the specification does not show it. */
  assumed?: string;
  /** Whether the answer is a file, not JSON. */
  isFile: boolean;
}

/** `public` for employers, `platform` for annotation platforms, `auth` for agents without an account. */
export type Api = 'public' | 'platform' | 'auth';
export type Credential = 'personal' | 'platform' | 'claim' | 'none';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
type Said<In extends z.ZodObject, Out extends z.ZodType> = Partial<
  Omit<Operation<string, In, Out>, 'id' | 'family' | 'name' | 'address' | 'purpose'>
>;
type Unnamed<Address extends string, In extends z.ZodObject, Out extends z.ZodType> = Said<In, Out> &
  Pick<Operation<Address, In, Out>, 'address' | 'purpose' | 'in' | 'out'>;

const nothing = z.object({});

/** @param said what differs from the family and from the usual */
export function op<
  Address extends `${Method} /${string}`,
  In extends z.ZodObject = typeof nothing,
  Out extends z.ZodType = typeof nothing,
>(address: Address, purpose: string, said: Said<In, Out> = {}): Unnamed<Address, In, Out> {
  return { in: nothing as never, out: nothing as never, ...said, address, purpose };
}

type Named<All> = {
  [Name in keyof All]: All[Name] extends Unnamed<infer Address, infer In, infer Out>
    ? Operation<Address, In, Out>
    : never;
};

const usual = {
  api: 'public',
  credential: 'personal',
  scopes: [],
  needsClaim: false,
  status: 200,
  errors: 'envelope',
  limits: [],
  reasons: [],
  refusals: [],
  isFile: false,
} as const;

/** Declares a family: first by what its operations share, then by the operations, each with its name. */
export function family(name: string, shared: Pick<Operation, 'section'> & Said<never, never>) {
  return <All extends Record<string, Unnamed<string, z.ZodObject, z.ZodType>>>(all: All): Named<All> => {
    const named = Object.entries(all).map(([verb, one]) => [verb, toOperation(name, verb, { ...shared, ...one })]);
    return Object.fromEntries(named) as Named<All>;
  };
}

function toOperation(family: string, name: string, said: Unnamed<string, z.ZodObject, z.ZodType>) {
  const method = methodOf(said);
  const answer = said.out instanceof z.ZodObject ? said.out.shape : {};
  const declared = {
    ...usual,
    // A POST that creates a record creates another one when it is repeated.
    idempotency: method === 'POST' && said.status === 201 ? 'none' : 'nature',
    isFinal: method === 'DELETE',
    isConfirmed: method === 'POST' && 'approval' in answer,
    isStrict: said.in.def.catchall instanceof z.ZodNever,
    pages: listIn(answer),
    ...said,
    id: `${family}.${name}`,
    family,
    name,
  };
  const { reasons, needsClaim } = declared;
  return { ...declared, reasons: needsClaim ? ['account_claim_required', ...reasons] : reasons };
}

/** The field of a page with its records. */
function listIn(answer: z.ZodRawShape): string | undefined {
  return 'nextCursor' in answer ? Object.keys(answer).find((field) => answer[field] instanceof z.ZodArray) : undefined;
}

/** Only named in the specification. It cannot be called. */
export interface Listed {
  family: string;
  what: string;
  section: string;
}

type FieldsOfPath<Address> = Address extends `${string}{${infer Field}}${infer Rest}`
  ? Field | FieldsOfPath<Rest>
  : never;

type HasFields<One extends Operation, Fields> = keyof One['in']['shape'] extends never ? unknown : Fields;

/** The fields of the path, and the query or the body, as a caller gives them. */
export type Input<One extends Operation> = HasFields<One, z.input<One['in']>> &
  Record<FieldsOfPath<One['address']>, string | number>;

/** What a client sends. The marketplace decides which words it knows. Undefined values are left out. */
export type Sent<One extends Operation> = Loose<Input<One>>;
type Loose<T> = T extends string
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Loose<Item>[]
    : T extends object
      ? { [Name in keyof T]: Loose<T[Name]> }
      : T;

/** The same, as they are read where they arrive. */
export type Received<One extends Operation> = HasFields<One, z.output<One['in']>> &
  Record<FieldsOfPath<One['address']>, string>;

export type Answer<One extends Operation> = z.output<One['out']>;

export function methodOf({ address }: Pick<Operation, 'address'>): Method {
  return address.slice(0, address.indexOf(' ')) as Method;
}

/** With the fields in braces. */
export function pathOf({ address }: Pick<Operation, 'address'>): string {
  return address.slice(address.indexOf('/'));
}

export function fieldsOfPath({ address }: Pick<Operation, 'address'>): string[] {
  return [...address.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => field);
}
