import { AppError } from '../domain/errors.ts';
import { type HttpAnswer, type HttpRequest, requestBytes, requestJson } from './http-client.ts';
import { maskText } from './mask.ts';

export interface RestOptions {
  /** Without a slash at its end. */
  baseUrl: string;
  authorization: { scheme: 'Bearer' | 'Token'; token: RestToken; refusals?: readonly number[] };
  headers?: Record<string, string>;
  /** What errors must not quote, besides the token. */
  secrets?: readonly string[];
  timeoutMs?: number;
  maxBytes?: number;
}

/**
 * A token, or a function that is called before each request, because the token may be replaced.
 *
 * @param refused the token that was just refused. If the function returns it again, the refusal is final.
 */
export type RestToken = string | ((signal: AbortSignal, refused?: string) => Promise<string>);

type OfRequest = 'body' | 'onHeaders' | 'onRequestId' | 'explain' | 'timeoutMs' | 'maxBytes';

export interface RestCall<T> extends Pick<Partial<HttpRequest>, OfRequest> {
  /** `GET` by default. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base address, with encoded ids and with its query. */
  path: string;
  headers?: Record<string, string>;
  /** For errors: "list the contracts". */
  purpose: string;
  answer?: Schema<T>;
  /** Sent without the token. */
  isAnonymous?: boolean;
  secrets?: readonly string[];
  signal: AbortSignal;
}

export interface Schema<T> {
  safeParse(body: unknown): { success: true; data: T } | { success: false; error: Error };
}

/** An answer of any shape. */
export const anyAnswer: Schema<unknown> = { safeParse: (data) => ({ success: true, data }) };

/** The default limits of a request. */
export const requestLimits = { timeoutMs: 15_000, maxBytes: 4 * 1024 * 1024 };

export type RestClient = ReturnType<typeof createRestClient>;

/** The client of one REST API. */
export function createRestClient({ baseUrl, authorization, headers, secrets = [], ...limits }: RestOptions) {
  const { scheme, token, refusals = [401] } = authorization;
  const readToken = async (signal: AbortSignal, refused?: string) =>
    typeof token === 'string' ? token : await token(signal, refused);

  function toRequest<T>({ path, answer, isAnonymous, ...call }: RestCall<T>, used: string) {
    return {
      ...requestLimits,
      ...limits,
      method: 'GET',
      ...call,
      url: `${baseUrl}${path}`,
      headers: { ...headers, ...(!isAnonymous && { authorization: `${scheme} ${used}` }), ...call.headers },
      secrets: [used, ...secrets, ...(call.secrets ?? [])],
      isAnswerIgnored: answer === undefined,
    };
  }

  /** A refused token may have been replaced meanwhile. A refused request was not done, so it can be repeated. */
  async function send<T>(call: RestCall<T>, used: string): Promise<HttpAnswer> {
    try {
      return await requestJson(toRequest(call, used));
    } catch (error) {
      if (call.isAnonymous || !refusals.includes(statusOf(error) ?? 0)) throw error;
      const next = await readToken(call.signal, used);
      if (next === used) throw error;
      return await requestJson(toRequest(call, next));
    }
  }

  return {
    /**
     * The answer as its schema reads it; undefined without a schema.
     *
     * @throws AppError as `requestJson`, and `invalid` for an answer that its schema refuses
     */
    async call<T>(call: RestCall<T>): Promise<T> {
      const used = call.isAnonymous ? '' : await readToken(call.signal);
      const { body } = await send(call, used);
      return call.answer === undefined ? (undefined as T) : parseAnswer(call.answer, body, call.purpose);
    },

    /** A file, as its bytes arrive. */
    async *download(call: RestCall<never>): AsyncGenerator<Uint8Array> {
      yield* requestBytes(toRequest(call, await readToken(call.signal)));
    },
  };
}

export function parseAnswer<T>(schema: Schema<T>, body: unknown, purpose: string): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new AppError('invalid', `Could not ${purpose}: the answer is not what was expected`, {
    // Some answers have addresses as keys, which the error names.
    cause: new Error(maskText(parsed.error.message)),
  });
}

/** The status of the other system's answer; undefined if there was none. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof AppError ? error.status : undefined;
}
