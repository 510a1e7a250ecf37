import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { AppError } from '../../src/domain/errors.ts';
import { type HttpRequest, requestBytes, requestJson } from '../../src/lib/http-client.ts';
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

  it('quotes no secret in an error, even if the answer is cut', async () => {
    const secret = 's'.repeat(30);
    const { url } = await openHttpFake((_, response) => {
      const error = `${'x'.repeat(190)}${secret}`;
      sendJson(response, { error, requestId: secret }, 400);
    });
    const error: unknown = await ask(url, { secrets: [secret] }).catch((failed: unknown) => failed);
    expect(inspect(error)).not.toContain('sss');
  });

  it.each<[unknown]>([
    [{ error: 'too many seats' }],
    [{ detail: 'too many seats' }],
    [{ message: 'too many seats' }],
    ['too many seats'],
    [['too many seats', 'sorry']],
  ])("quotes the tool's error in %j", async (said) => {
    const { url } = await openHttpFake((_, response) => sendJson(response, said, 400));
    await expect(ask(url)).rejects.toThrow('Could not look: answered 400: too many seats');
  });

  it('does not quote a header that cannot be sent', async () => {
    const headers = { authorization: 'Bearer hunter2\n' };
    const call = ask('http://127.0.0.1:9', { headers: { ...headers, x: 'ö…' } });
    const error: unknown = await call.catch((failed: unknown) => failed);
    expect(error).toMatchObject({ code: 'invalid' });
    expect(inspect(error)).not.toMatch(/hunter2|ö/);
  });

  it('reads JSON and a refusal after a byte order mark', async () => {
    const { url } = await openHttpFake((request, response) => {
      const { status, text } =
        request.url === '/no' ? { status: 409, text: '{"error":"full"}' } : { status: 200, text: '[1]' };
      response.writeHead(status).end(`\ufeff${text}`);
    });
    expect((await ask(url)).body).toEqual([1]);
    await expect(ask(`${url}/no`)).rejects.toThrow('answered 409: full');
  });

  it.each([
    ['7', 7000],
    ['20.5', 20_500],
    ['1.5', 1500],
    ['9000', 3_600_000],
    ['Wed, 21 Oct 2099 07:28:00 GMT', 3_600_000],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['-5', undefined],
    ['soon', undefined],
  ])('waits for "Retry-After: %s", of which 20.5 was ignored and 1.5 read as a date', async (value, expected) => {
    const { url } = await openHttpFake((_, response) => {
      sendJson(response, {}, 429, { 'retry-after': value });
    });
    const failure: AppError = await ask(url).catch((error) => error);
    expect(failure.retryAfterMs).toBe(expected);
  });

  it('accepts any answer only if the answer is ignored', async () => {
    const { url } = await openHttpFake((_, response) => void response.end('<p>Done'));
    await expect(ask(url, { isAnswerIgnored: true })).resolves.toMatchObject({ status: 200 });
    await expect(ask(url)).rejects.toThrow('the answer is not JSON');
  });

  it('sends a form, and returns a page as text', async () => {
    const { url } = await openHttpFake((request, response) => {
      const type = request.headers['content-type'];
      void text(request).then((sent) => response.end(`${type} ${sent}`));
    });
    const form = { 'a b': 'ä&c=d' };
    const page = await ask(url, { method: 'POST', form, isAnswerText: true });
    expect(page.body).toBe('application/x-www-form-urlencoded;charset=UTF-8 a+b=%C3%A4%26c%3Dd');
  });
});

describe('a request for bytes', () => {
  async function read(url: string): Promise<string> {
    const bounds = { timeoutMs: 1000, maxBytes: 1000 };
    const chunks = requestBytes({ method: 'GET', url, purpose: 'look', ...bounds });
    return Buffer.concat(await Array.fromAsync(chunks)).toString();
  }

  it('yields bytes up to the limit', async () => {
    const { url } = await openHttpFake(({ url: path }, response) => {
      for (let part = 0; part < 10; part += 1) response.write('x'.repeat(100));
      response.end(path === '/long' ? 'x' : '');
    });
    await expect(read(url)).resolves.toHaveLength(1000);
    await expect(read(`${url}/long`)).rejects.toMatchObject({
      code: 'invalid',
      message: 'Could not look: the answer is over 1000 bytes',
    });
  });

  it('quotes a refusal, follows no redirect, and fails if the answer breaks off', async () => {
    const { url } = await openHttpFake(({ url: path }, response) => {
      if (path === '/away') response.writeHead(302, { location: '/' }).end();
      else if (path === '/broken') response.write('half', () => response.destroy());
      else sendJson(response, { detail: 'not yours' }, 403);
    });
    await expect(read(url)).rejects.toThrow('Could not look: answered 403: not yours');
    await expect(read(`${url}/away`)).rejects.toMatchObject({ code: 'invalid', status: 302 });
    await expect(read(`${url}/broken`)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
