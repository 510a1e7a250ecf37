import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { attachmentReasons, refusals } from '../../src/marketplace/contract/refusals.ts';
import type { Wanted } from '../../src/sandbox/parse-request.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { openAccount } from './account-harness.ts';
import { never } from './sandbox-harness.ts';

const base = '/api/public/v1/messages';
const png = Buffer.from('89504e470d0a1a0a0000', 'hex');
const starts = {
  png,
  jpeg: Buffer.from('ffd8ffe0', 'hex'),
  gif: Buffer.from('GIF89a...'),
  webp: Buffer.from('RIFF....WEBPVP8 '),
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  pdf: Buffer.from('%PDF-1.7'),
};

type File = NonNullable<Wanted<'NewMessage'>['attachments']>[number];

async function openAttached(file: File = {}, options: SandboxOptions = {}) {
  const world = await openAccount({}, options);
  const { sandbox, jobId, url, token } = world;
  const conversationId = `dm_${sandbox.hire({ jobId }).contractId}`;
  const attachments = [{ contentBase64: png.toString('base64'), fileName: 'car.png', ...file }];
  const { messageId, attachmentIds } = sandbox.writeMessage(conversationId, { attachments });
  const [attachmentId = ''] = attachmentIds;
  const path = `/${messageId}/attachments/${attachmentId}`;
  const get = (wanted = path, as: string | undefined = token) => download(`${url}${base}${wanted}`, as);
  const audit = () => sandbox.snapshot().accounts[0]?.attachmentReads ?? never();
  return { ...world, conversationId, messageId, attachmentId, path, get, audit };
}

/** With the headers as they came. */
async function download(url: string, token?: string) {
  const response = await fetch(url, { headers: token ? { authorization: `Bearer ${token}` } : {} });
  const bytes = Buffer.from(await response.arrayBuffer());
  const { status, headers } = response;
  const isJson = headers.get('content-type')?.startsWith('application/json') === true;
  return { status, headers, bytes, body: isJson ? JSON.parse(bytes.toString()) : undefined };
}

describe('the bytes of an attachment', () => {
  it('come in chunks, with what was verified of them', async () => {
    const { get, messageId, attachmentId, url, path, token } = await openAttached();
    const { status, headers, bytes } = await get();
    expect([status, bytes]).toEqual([200, png]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': 'attachment; filename="car.png"',
      'x-opentrain-byte-size': '10',
      'x-opentrain-sha256': createHash('sha256').update(png).digest('hex'),
      'x-opentrain-mime-type': 'image/png',
      'x-opentrain-source': 'PRIVATE_STORAGE',
      'x-opentrain-delivery': 'bytes',
      'x-opentrain-message-id': messageId,
      'x-opentrain-attachment-id': attachmentId,
    });
    const raw = await new Promise<NodeJS.Dict<string | string[]>>((resolve) => {
      const outgoing = request(`${url}${base}${path}`, { headers: { authorization: `Bearer ${token}` } }, (answer) => {
        answer.resume();
        resolve(answer.headers);
      });
      outgoing.end();
    });
    expect(raw['transfer-encoding']).toBe('chunked');
    expect(raw).not.toHaveProperty('content-length');
  });

  it('have headers with the prefix of the sandbox', async () => {
    const { get } = await openAttached({ source: 'LEGACY_EXTERNAL' }, { headerPrefix: 'X-Service-' });
    expect((await get()).headers.get('x-service-source')).toBe('LEGACY_EXTERNAL');
  });

  it.each<[keyof typeof starts, declared: string | null, type: string]>([
    ['png', null, 'image/png'],
    ['png', 'image/png', 'image/png'],
    ['png', 'image/gif', 'application/octet-stream'],
    ['jpeg', null, 'image/jpeg'],
    ['gif', null, 'image/gif'],
    ['webp', null, 'image/webp'],
    ['svg', 'image/svg+xml', 'application/octet-stream'],
    ['pdf', 'application/pdf', 'application/octet-stream'],
  ])('of %s that is said to be %s are %s', async (kind, declaredType, type) => {
    const { get } = await openAttached({ contentBase64: starts[kind].toString('base64'), declaredType });
    expect((await get()).headers.get('content-type')).toBe(type);
  });

  it.each([
    ['a"b\r\n/ü.png', 'a_b____.png'],
    ['', /^attachment-att_[0-9a-f]{32}\.png$/],
    ['../..', /^attachment-att_[0-9a-f]{32}\.png$/],
    [`${'a'.repeat(300)}.png`, 'a'.repeat(100)],
  ])('of %j get a safe name', async (fileName, expected) => {
    const { get } = await openAttached({ fileName });
    const [, name = ''] =
      /^attachment; filename="([^"]*)"$/.exec((await get()).headers.get('content-disposition') ?? '') ?? [];
    expect(name).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
  });

  it.each<[delivery: string, size: number, kind: keyof typeof starts, resolved: string]>([
    ['bytes', 10, 'png', 'bytes'],
    ['inline', 10, 'pdf', 'inline'],
    ['resource', 10, 'png', 'resource'],
    ['auto', 4 * 2 ** 20, 'png', 'inline'],
    ['auto', 4 * 2 ** 20 + 1, 'png', 'resource'],
    ['auto', 10, 'pdf', 'resource'],
  ])('asked for as %s with %i bytes of %s are for %s', async (delivery, size, kind, resolved) => {
    const content = Buffer.concat([starts[kind], Buffer.alloc(size)]).subarray(0, size);
    const { get, path } = await openAttached({ contentBase64: content.toString('base64') });
    const { headers, bytes } = await get(`${path}?delivery=${delivery}`);
    expect([headers.get('x-opentrain-delivery'), bytes.equals(content)]).toEqual([resolved, true]);
  });
});

describe('a read of an attachment', () => {
  const id = `att_${'0'.repeat(32)}`;
  it.each([
    ['MESSAGE_ID_REQUIRED', `/%20/attachments/${id}`],
    ['INVALID_MESSAGE_ID', `/${'m'.repeat(129)}/attachments/${id}`],
    ['INVALID_MESSAGE_ID', `/a%20b/attachments/${id}`],
    ['INVALID_ATTACHMENT_ID', '/msg_1/attachments/att_1'],
    ['INVALID_ATTACHMENT_ID', `/msg_1/attachments/${id.toUpperCase()}`],
    ['INVALID_DELIVERY', `/msg_1/attachments/${id}?delivery=`],
    ['INVALID_DELIVERY', `/msg_1/attachments/${id}?delivery=fast`],
    ['INVALID_DELIVERY', `/msg_1/attachments/${id}?delivery=auto&delivery=auto`],
  ])('is refused with %s at %s before the token is looked at', async (reason, path) => {
    const { url, audit } = await openAttached();
    const { status, headers, body } = await download(`${url}${base}${path}`);
    expect([status, body.code, body.details.reason]).toEqual([400, 'BAD_REQUEST', reason]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(audit()).toEqual([]);
  });

  const unavailable = attachmentReasons.filter((reason) => refusals[reason][0] === 409);
  const ofState: Record<string, 'DELETED' | 'HIDDEN'> = { MESSAGE_DELETED: 'DELETED', MESSAGE_HIDDEN: 'HIDDEN' };
  it.each(unavailable)('is refused with %s, which is recorded', async (reason) => {
    const { [reason]: state } = ofState;
    const world = await openAttached(state === undefined ? { refusal: reason } : {});
    const { sandbox, get, audit, messageId, attachmentId, api, conversationId } = world;
    if (state !== undefined) sandbox.setMessageState(messageId, { state });
    const { status, body, headers } = await get();
    expect([status, body.code, body.details]).toEqual([409, 'ATTACHMENT_UNAVAILABLE', { reason }]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(audit()).toMatchObject([{ messageId, attachmentId, refusal: reason }]);
    const unknown = await get(`/${messageId}/attachments/${id}`);
    expect(unknown.status).toBe(state === undefined ? 404 : 409);
    const { attachments } = (await api('GET', `/messages/${conversationId}`)).body.messages[0];
    expect(attachments).toEqual(state ? [] : [{ attachmentId, fileName: 'car.png', retrieval: { bytes: false } }]);
  });

  it('is refused as too large from 20 MiB on', async () => {
    const contentBase64 = Buffer.alloc(20 * 2 ** 20 + 1).toString('base64');
    const { get } = await openAttached({ contentBase64 });
    expect((await get()).body.details.reason).toBe('OVERSIZE');
  });

  it('says the same of whatever is not there', async () => {
    const { sandbox, get, messageId, attachmentId, path, audit } = await openAttached();
    const { token: other } = sandbox.createAccount();
    const answers = [
      await get(`/${messageId}/attachments/${id}`),
      await get(`/msg_x/attachments/${attachmentId}`),
      await get(path, other),
    ];
    sandbox.setMessageState(messageId, { state: 'SENDER_HIDDEN' });
    answers.push(await get());
    for (const { status, body } of answers) {
      const { requestId: _, ...rest } = body;
      expect([status, rest]).toEqual([
        404,
        { error: 'There is no such attachment', code: 'NOT_FOUND', details: { resource: 'message_attachment' } },
      ]);
    }
    expect(audit()).toEqual([]);
  });

  it('needs a token with its scope', async () => {
    const { sandbox, get, path, url, audit } = await openAttached();
    const { token: narrow } = sandbox.createAccount({ scopes: ['jobs:read'] });
    const [missing, refused] = [await download(`${url}${base}${path}`), await get(path, narrow)];
    expect([missing.status, missing.body.code]).toEqual([401, 'UNAUTHORIZED']);
    expect([refused.status, refused.body.details.requiredScopes]).toEqual([403, ['messages:read']]);
    expect(audit()).toEqual([]);
  });

  it('is recorded before it is answered, and never changed', async () => {
    const { sandbox, get, path, messageId, attachmentId, audit } = await openAttached();
    await get(`${path}?delivery=auto`);
    const [{ ownerUserId = '' } = {}] = sandbox.snapshot().accounts;
    const sha256 = createHash('sha256').update(png).digest('hex');
    const file = { byteSize: 10, sha256, mimeType: 'image/png', source: 'PRIVATE_STORAGE', delivery: 'inline' };
    expect(audit()).toMatchObject([{ messageId, attachmentId, actorUserId: ownerUserId, ...file }]);
    const before = audit();
    await get();
    expect(audit()).toHaveLength(2);
    expect(audit()[0]).toEqual(before[0]);
  });

  it('is allowed ten times a minute for each token', async () => {
    const { sandbox, api, get, path, audit } = await openAttached();
    for (let count = 0; count < 9; count += 1) expect((await get()).status).toBe(200);
    expect((await get(`/msg_x/attachments/${id}`)).status).toBe(404);
    const { status, headers, body } = await get();
    expect([status, body.code]).toEqual([429, 'RATE_LIMITED']);
    const names = ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining'];
    expect(names.map((name) => headers.get(name))).toEqual(['60', '10', '0']);
    expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(50);
    expect(audit()).toHaveLength(9);
    const { body: made } = await api('POST', '/tokens', { body: { name: 'second' } });
    expect((await get(path, made.token)).status).toBe(200);
    await sandbox.advance(60_000);
    expect((await get()).status).toBe(200);
  });

  it('fails without a record or a byte while the marketplace is down', async () => {
    const { sandbox, get, audit } = await openAttached();
    sandbox.setFaults(undefined, { serverError: 1 });
    const answers = [];
    for (let count = 0; count < 12; count += 1) answers.push(await get());
    const codes = new Set(answers.map(({ status, body }) => `${status} ${body.code}`));
    expect([...codes].sort()).toEqual(['500 INTERNAL_ERROR', '503 SERVICE_UNAVAILABLE']);
    expect(audit()).toEqual([]);
  });
});
