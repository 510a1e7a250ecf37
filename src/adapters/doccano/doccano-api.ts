import { AppError } from '../../domain/errors.ts';
import { pathSegment } from '../../lib/path-segment.ts';
import { requestTool, statusOf } from '../tool-request.ts';
import type { DoccanoSettings } from './doccano-schema.ts';
import { createDoccanoSession } from './doccano-session.ts';

/** Makes requests to doccano's API, each with a time-out and a size limit, and checks the answers. */
export interface DoccanoApi {
  /**
   * @throws AppError as `requestJson`, and `invalid` for an answer that is not doccano's
   */
  send<Answer>(request: ApiRequest, schema: AnswerSchema<Answer>, signal: AbortSignal): Promise<Answer>;
  /** For a request whose answer is not needed. */
  run(request: ApiRequest, signal: AbortSignal): Promise<void>;
}

export interface ApiRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path after `/v1`, with its query. */
  path: string;
  body?: unknown;
  /** What the request tries to do: "add the member". */
  purpose: string;
  /** What errors must not quote, besides the credentials. */
  secrets?: readonly string[];
}

interface AnswerSchema<Answer> {
  safeParse(body: unknown): { success: true; data: Answer } | { success: false };
}

export function createDoccanoApi(settings: DoccanoSettings): DoccanoApi {
  const session = createDoccanoSession(settings);

  async function sendAs(token: string, request: ApiRequest, signal: AbortSignal): Promise<unknown> {
    const { path, secrets = [], ...rest } = request;
    const answer = await requestTool({
      ...rest,
      url: `${settings.url}/v1${path}`,
      headers: { authorization: `Token ${token}` },
      secrets: [...session.secrets, ...secrets],
      signal,
    });
    return answer.body;
  }

  /** An expired token is refused with 403, like an account without the right. */
  async function send(request: ApiRequest, signal: AbortSignal): Promise<unknown> {
    const token = await session.token(signal);
    try {
      return await sendAs(token, request, signal);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const renewed = await session.renew(token, signal);
      if (renewed === null) throw error;
      return await sendAs(renewed, request, signal);
    }
  }

  return {
    async send(request, schema, signal) {
      const answer = schema.safeParse(await send(request, signal));
      if (answer.success) return answer.data;
      const { purpose } = request;
      throw new AppError('invalid', `Could not ${purpose}: the answer is not one of doccano's`);
    },
    async run(request, signal) {
      await send(request, signal);
    },
  };
}

function isRefusal(error: unknown): boolean {
  return [401, 403].includes(statusOf(error) ?? 0);
}

/**
 * The path of a project. Ids are numbers in exactly one form, because with `007` a customer would reach a
 * project by another id than the operator allowed.
 *
 * @throws AppError `invalid` for a text that is no id of a project
 */
export function projectPath(groupId: string): string {
  if (isId(groupId)) return `/projects/${pathSegment(groupId)}`;
  throw new AppError('invalid', 'The id of a doccano project is a whole number, as in its URL');
}

export function isId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}
