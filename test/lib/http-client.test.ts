import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type HttpRequest, requestJson } from '../../src/lib/http-client.ts';
import { openHttpFake, sendJson } from '../support/http-fake.ts';

function ask(url: string, more: Partial<HttpRequest> = {}) {
  const bounds = { timeoutMs: 1000, maxBytes: 1000 };
  return requestJson({ method: 'GET', url, purpose: 'look', ...bounds, ...more });
}

describe('a request', () => {
  it('follows no redirect', async () => {
    const { url, requests } = await openHttpFake((_, response) => {
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    await expect(ask(url)).rejects.toMatchObject({ code: 'invalid', status: 302 });
    expect(requests).toHaveLength(1);
  });

  it('quotes none of its secrets, also where the answer is cut', async () => {
    const secret = 's'.repeat(30);
    const { url } = await openHttpFake((_, response) => {
      const error = `${'x'.repeat(190)}${secret}`;
      sendJson(response, { error, requestId: secret }, 400);
    });
    const error: unknown = await ask(url, { secrets: [secret] }).catch((failed: unknown) => failed);
    expect(inspect(error)).not.toContain('sss');
  });

  it.each(['error', 'detail', 'message'])('says what the tool said in "%s"', async (key) => {
    const { url } = await openHttpFake((_, response) => {
      sendJson(response, { [key]: 'too many seats' }, 400);
    });
    await expect(ask(url)).rejects.toThrow('Could not look: answered 400: too many seats');
  });

  it('says nothing of a header that cannot be sent', async () => {
    const headers = { authorization: 'Bearer hunter2\n' };
    const call = ask('http://127.0.0.1:9', { headers: { ...headers, x: 'ö…' } });
    const error: unknown = await call.catch((failed: unknown) => failed);
    expect(error).toMatchObject({ code: 'invalid' });
    expect(inspect(error)).not.toMatch(/hunter2|ö/);
  });

  it('takes any answer where none is needed, and only then', async () => {
    const { url } = await openHttpFake((_, response) => void response.end('<p>Done'));
    await expect(ask(url, { isAnswerIgnored: true })).resolves.toMatchObject({ status: 200 });
    await expect(ask(url)).rejects.toThrow('the answer is not JSON');
  });
});
