import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { remedyFrom, withRemedy } from '../../../src/adapters/tool-request.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { scimAdapter } from '../../support/scim-settings.ts';
import { openScimTool } from '../../support/scim-tool.ts';
import { openScimmy } from '../../support/scimmy-tool.ts';

const { signal } = new AbortController();
const token = 'hunter2-hunter2';

describe('checking a server', () => {
  it('reports nothing about a real server, and changes nothing', async () => {
    const tool = await openScimmy();
    expect(await scimAdapter(tool).check(signal)).toEqual([]);
    expect(tool.requests.every(({ line }) => line.startsWith('GET '))).toBe(true);
  });

  it("works without the server's description of itself", async () => {
    const tool = await openScimTool({ config: null });
    expect(await scimAdapter(tool).check(signal)).toEqual([]);
  });

  it('says that a token is wrong', async () => {
    const tool = await openScimmy();
    const checking = scimAdapter({ ...tool, token }).check(signal);
    await expect(checking).rejects.toMatchObject({
      code: 'unauthenticated',
      status: 401,
      message: expect.stringMatching(/the token is wrong or has expired, or is for another API/),
    });
  });

  it.each([
    ['a token that may not read them', 403, 'forbidden', /needs the right to read and change/],
    ['an address without SCIM', 404, 'not_found', /"url" must be the root of SCIM/],
    ['an address that leads elsewhere', 302, 'invalid', /must be the address that it redirects to/],
  ])('says what to do about %s', async (_what, status, code, remedy) => {
    const fake = await openHttpFake((_, response) => sendJson(response, {}, status));
    const checking = scimAdapter({ url: fake.url, token }).check(signal);
    const message = expect.stringMatching(remedy);
    await expect(checking).rejects.toMatchObject({ code, status, message });
  });

  it.each([
    ['a web page', '<!doctype html><html><body>Sign in</body></html>'],
    ['another API', '[{"id": 1}]'],
    ['nothing', ''],
  ])('says that %s is not SCIM', async (_what, text) => {
    const fake = await openHttpFake((_, response) => response.end(text));
    await expect(scimAdapter({ url: fake.url, token }).check(signal)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('"url" must be the root of SCIM'),
    });
  });

  it('says that there is no TLS', async () => {
    const fake = await openHttpFake((_, response) => response.end());
    const url = fake.url.replace('http:', 'https:');
    await expect(scimAdapter({ url, token }).check(signal)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('the server there does not speak TLS'),
    });
  });

  it('says that nothing answers', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const url = `http://127.0.0.1:${port}`;
    await expect(scimAdapter({ url, token }).check(signal)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('does it run, and is "url" right?'),
    });
  });

  it.each(['DEPTH_ZERO_SELF_SIGNED_CERT', 'CERT_HAS_EXPIRED', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])(
    'says what to do about a certificate: %s',
    async (code) => {
      const cause = new TypeError('fetch failed', {
        cause: Object.assign(new Error('no'), { code }),
      });
      const call = Promise.reject(new AppError('unavailable', 'Could not list', { cause }));
      await expect(withRemedy(call, remedyFrom({ url: '', token: '' }))).rejects.toThrow('NODE_EXTRA_CA_CERTS');
    },
  );

  it.each([new AppError('rate_limited', 'Could not list', { status: 429, retryAfterMs: 7 }), 'anything'])(
    'does not change an error without a remedy: %s',
    async (error) => {
      await expect(withRemedy(Promise.reject(error), remedyFrom({ url: '', token: '' }))).rejects.toBe(error);
    },
  );

  it('says that a server does not filter', async () => {
    const tool = await openScimTool({ filter: 'ignored' });
    tool.seed({ userName: 'one@x.example' });
    const [finding] = await scimAdapter(tool).check(signal);
    expect(finding).toMatchObject({
      isFailure: false,
      says: expect.stringContaining('not filter'),
    });
  });

  it('says that whole groups are written, unless "ifMatch" is set', async () => {
    const tool = await openScimTool({ config: { patch: { supported: false } } });
    const [finding] = await scimAdapter(tool).check(signal);
    expect(finding).toMatchObject({ isFailure: false, says: expect.stringContaining('no PATCH') });
    expect(await scimAdapter(tool, { ifMatch: true }).check(signal)).toEqual([]);
  });

  it('says that the fixed group is missing', async () => {
    const tool = await openScimTool({}, ['Annotators']);
    const settings = { group: 'Trainers', createGroups: false };
    const [finding] = await scimAdapter(tool, settings).check(signal);
    expect(finding).toMatchObject({ isFailure: true, says: 'The tool has no group "Trainers"' });
    expect(await scimAdapter(tool, { ...settings, group: 'Annotators' }).check(signal)).toEqual([]);
  });

  it('says when a token ends soon, if the token shows it', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const tool = await openScimTool({ token: toJwt({ exp }) });
    const [finding] = await scimAdapter(tool).check(signal);
    expect(finding?.says).toBe(`The token expires at ${new Date(exp * 1000).toISOString()}`);
    const later = await openScimTool({ token: toJwt({ exp: exp + 20 * 86_400 }) });
    expect(await scimAdapter(later).check(signal)).toEqual([]);
  });

  it.each(['plain', 'a.b.c', toJwt({}), toJwt({ exp: 'soon' })])('knows no end of %j', async (text) => {
    const tool = await openScimTool({ token: text });
    expect(await scimAdapter(tool).check(signal)).toEqual([]);
  });
});

function toJwt(claims: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encode({ alg: 'none' })}.${encode(claims)}.c2lnbmF0dXJl`;
}
