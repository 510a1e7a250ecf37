import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { isSameAddress } from '../lib/text.ts';
import { isPlainBeyondLoopback, pathSegment } from '../lib/url.ts';
import type { AdapterKit, KitAnswer, KitRequest } from './kit.ts';
import { requestTool } from './tool-request.ts';

const shortestSecret = 6;
/** Not secret, and useful in an error. */
const plainKeys = new Set(['url', 'path', 'offboarding']);

export function createKit(tool: string, settings: Record<string, unknown>): AdapterKit {
  const configured = Object.entries(settings)
    .filter(([key]) => !plainKeys.has(key))
    .flatMap(([, value]) => textsIn(value));

  return {
    tool,
    settings,
    async request({ secrets = [], ...rest }: KitRequest): Promise<KitAnswer> {
      refusePlain(rest.url, settings['allowHttp'] === true);
      return await requestTool({ ...rest, secrets: [...configured, ...secrets] });
    },
    pathSegment,
    isSameAddress,
    error: (code, message, options) => new AppError(code, maskText(message, configured).slice(0, 500), options),
  };
}

function refusePlain(url: string, allowHttp: boolean): void {
  if (!URL.canParse(url)) throw new AppError('invalid', 'The adapter requested an invalid URL');
  if (allowHttp || !isPlainBeyondLoopback(url)) return;
  throw new AppError('invalid', 'Plain http to another machine needs "allowHttp": true');
}

/** All texts in the settings, because only the adapter knows which of them are credentials. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.length < shortestSecret ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
