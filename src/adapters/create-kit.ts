import { AppError } from '../domain/errors.ts';
import { requestJson } from '../lib/http-client.ts';
import { isPlainBeyondLoopback } from '../lib/loopback.ts';
import { maskText } from '../lib/mask.ts';
import { pathSegment } from '../lib/path-segment.ts';
import { isSameAddress } from '../lib/same-address.ts';
import type { AdapterKit, KitAnswer, KitRequest } from './kit.ts';

const defaults = { method: 'GET', timeoutMs: 15_000, maxBytes: 4 * 1024 * 1024 };
const shortestSecret = 6;
/** Not secret, and worth reading in an error. */
const plainKeys = new Set(['url', 'path', 'offboarding']);

export function createKit(tool: string, settings: Record<string, unknown>): AdapterKit {
  const configured = Object.entries(settings)
    .filter(([key]) => !plainKeys.has(key))
    .flatMap(([, value]) => textsIn(value));

  async function request({ expected = [], ...asked }: KitRequest): Promise<KitAnswer> {
    refusePlain(asked.url, settings['allowHttp'] === true);
    const secrets = [...configured, ...(asked.secrets ?? [])];
    try {
      return await requestJson({ ...defaults, ...asked, secrets });
    } catch (error) {
      const { status } = error as { status?: number };
      if (status === undefined || !expected.includes(status)) throw error;
      return { status, headers: new Headers(), body: undefined };
    }
  }

  return {
    tool,
    settings,
    request,
    pathSegment,
    isSameAddress,
    error: (code, message, options) => new AppError(code, maskText(message, configured).slice(0, 500), options),
  };
}

function refusePlain(url: string, allowHttp: boolean): void {
  if (!URL.canParse(url)) throw new AppError('invalid', 'The adapter asks for something that is no URL');
  if (allowHttp || !isPlainBeyondLoopback(url)) return;
  throw new AppError('invalid', 'Plain http to another machine needs "allowHttp": true');
}

/** Everything in the settings that may be a credential: which is one, only the adapter knows. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.length < shortestSecret ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
