import { AppError } from '../../domain/errors.ts';
import type { HttpAnswer } from '../../lib/http-client.ts';
import { requestTool, statusOf, type ToolRequest } from '../tool-request.ts';
import { createCredentials } from './access-token.ts';
import { AccessToken, type LabelStudioSettings } from './label-studio-schema.ts';

/** Requests with the token, each with a time-out and a size limit. A schema checks each answer. */
export interface AuthorizedRequests {
  read<T>(schema: Schema<T>, call: LabelStudioCall): Promise<T>;
  /** Without the token, which a server at a wrong address must not get. */
  readOpenly<T>(schema: Schema<T>, call: LabelStudioCall): Promise<T>;
  /** As the user of a session. */
  readBySession<T>(schema: Schema<T>, session: string, call: LabelStudioCall): Promise<T>;
  /** Null for 404. */
  readOrNull<T>(schema: Schema<T>, call: LabelStudioCall): Promise<T | null>;
  /** A 404 is no error. */
  remove(call: LabelStudioCall): Promise<void>;
  post(call: LabelStudioCall): Promise<void>;
  patch(call: LabelStudioCall, body: unknown): Promise<void>;
}

export interface LabelStudioCall {
  path: string;
  /** What the call tries to do: "list the users". */
  purpose: string;
  signal: AbortSignal;
}

interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false };
}

/** Label Studio decides the size of a list of users or tasks. */
const maxBytes = 64 * 1024 * 1024;

export function createAuthorizedRequests({ url, token }: LabelStudioSettings): AuthorizedRequests {
  const credentials = createCredentials(token, exchange);

  async function exchange(signal: AbortSignal): Promise<string> {
    const purpose = 'get access with the personal access token';
    const { body } = await requestTool({
      method: 'POST',
      url: `${url}/api/token/refresh/`,
      purpose,
      signal,
      body: { refresh: token },
      secrets: [token],
    });
    return parse(AccessToken, body, purpose).access;
  }

  async function sendAs(
    headers: Record<string, string>,
    { path, ...call }: LabelStudioCall,
    more: Partial<ToolRequest> = {},
  ): Promise<HttpAnswer> {
    const secrets = [...credentials.secrets(), ...(more.secrets ?? [])];
    return await requestTool({ ...call, ...more, url: `${url}${path}`, headers, secrets, maxBytes });
  }

  async function send(call: LabelStudioCall, more: Partial<ToolRequest> = {}): Promise<HttpAnswer> {
    const authorization = await credentials.header(call.signal);
    try {
      return await sendAs({ authorization }, call, more);
    } catch (error) {
      const isStale = statusOf(error) === 401 && credentials.isRenewable(authorization);
      if (!isStale) throw error;
      return await sendAs({ authorization: await credentials.header(call.signal) }, call, more);
    }
  }

  return {
    read: async (schema, call) => parse(schema, (await send(call)).body, call.purpose),

    async readOpenly(schema, call) {
      return parse(schema, (await sendAs({}, call)).body, call.purpose);
    },

    async readBySession(schema, session, call) {
      const { body } = await sendAs({ cookie: `sessionid=${session}` }, call, { secrets: [session] });
      return parse(schema, body, call.purpose);
    },

    async readOrNull(schema, call) {
      const { status, body } = await send(call, { expected: [404] });
      return status === 404 ? null : parse(schema, body, call.purpose);
    },

    async remove(call) {
      await send(call, { method: 'DELETE', isAnswerIgnored: true, expected: [404] });
    },

    async post(call) {
      await send(call, { method: 'POST', isAnswerIgnored: true });
    },

    async patch(call, body) {
      await send(call, { method: 'PATCH', body, isAnswerIgnored: true });
    },
  };
}

function parse<T>(schema: Schema<T>, value: unknown, purpose: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new AppError('invalid', `Could not ${purpose}: the answer is not what Label Studio gives`);
}
