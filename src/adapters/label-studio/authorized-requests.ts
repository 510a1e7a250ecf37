import { AppError } from '../../domain/errors.ts';
import { type HttpAnswer, type HttpRequest, requestJson } from '../../lib/http-client.ts';
import { createCredentials } from './access-token.ts';
import { AccessToken, type LabelStudioSettings } from './label-studio-schema.ts';

/** Requests with the token, each with an end and a bound, whose answers are what a schema says. */
export interface AuthorizedRequests {
  read<T>(schema: Schema<T>, call: LabelStudioCall): Promise<T>;
  /** The same without the token, which what stands at a wrong address is not told. */
  readOpenly<T>(schema: Schema<T>, call: LabelStudioCall): Promise<T>;
  /** The same as somebody who is logged in. */
  readBySession<T>(schema: Schema<T>, session: string, call: LabelStudioCall): Promise<T>;
  /** Null where there is no such thing: 404. */
  readOrNull<T>(schema: Schema<T>, call: LabelStudioCall): Promise<T | null>;
  /** Whatever is answered; that there is no such thing any more is no error. */
  remove(call: LabelStudioCall): Promise<void>;
  post(call: LabelStudioCall): Promise<void>;
}

export interface LabelStudioCall {
  path: string;
  /** What it is an attempt at: "list the users". */
  purpose: string;
  signal: AbortSignal;
}

interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false };
}

const timeoutMs = 15_000;
/** Users and tasks come in lists whose size Label Studio decides. */
const maxBytes = 64 * 1024 * 1024;

export function createAuthorizedRequests({ url, token }: LabelStudioSettings): AuthorizedRequests {
  const credentials = createCredentials(token, exchange);

  async function exchange(signal: AbortSignal): Promise<string> {
    const purpose = 'get access with the personal access token';
    const { body } = await requestJson({
      method: 'POST',
      url: `${url}/api/token/refresh/`,
      purpose,
      signal,
      body: { refresh: token },
      secrets: [token],
      timeoutMs,
      maxBytes,
    });
    return parse(AccessToken, body, purpose).access;
  }

  const toRequest = ({ path, purpose, signal }: LabelStudioCall): HttpRequest => ({
    method: 'GET',
    url: `${url}${path}`,
    purpose,
    signal,
    timeoutMs,
    maxBytes,
    secrets: credentials.secrets(),
  });

  async function sendAs(authorization: string, call: LabelStudioCall, more: Partial<HttpRequest>): Promise<HttpAnswer> {
    return await requestJson({ ...toRequest(call), headers: { authorization }, ...more });
  }

  async function send(call: LabelStudioCall, more: Partial<HttpRequest> = {}): Promise<HttpAnswer> {
    const authorization = await credentials.header(call.signal);
    try {
      return await sendAs(authorization, call, more);
    } catch (error) {
      const isStale = statusOf(error) === 401 && credentials.isRenewable(authorization);
      if (!isStale) throw error;
      return await sendAs(await credentials.header(call.signal), call, more);
    }
  }

  return {
    read: async (schema, call) => parse(schema, (await send(call)).body, call.purpose),

    async readOpenly(schema, call) {
      const { body } = await requestJson(toRequest(call));
      return parse(schema, body, call.purpose);
    },

    async readBySession(schema, session, call) {
      const { secrets = [], ...request } = toRequest(call);
      const headers = { cookie: `sessionid=${session}` };
      const { body } = await requestJson({ ...request, headers, secrets: [...secrets, session] });
      return parse(schema, body, call.purpose);
    },

    async readOrNull(schema, call) {
      const answer = await send(call).catch(toNullWhereAbsent);
      return answer === null ? null : parse(schema, answer.body, call.purpose);
    },

    async remove(call) {
      await send(call, { method: 'DELETE', isAnswerIgnored: true }).catch(toNullWhereAbsent);
    },

    async post(call) {
      await send(call, { method: 'POST', isAnswerIgnored: true });
    },
  };
}

function parse<T>(schema: Schema<T>, value: unknown, purpose: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new AppError('invalid', `Could not ${purpose}: the answer is not what Label Studio gives`);
}

function toNullWhereAbsent(error: unknown): null {
  if (statusOf(error) === 404) return null;
  throw error;
}

function statusOf(error: unknown): number | undefined {
  return (error as { status?: number }).status;
}
