import { unavailableReasons } from '../../support/second-marketplace/employer-controls.ts';
import { anyList, anyRecord, anyText, type Exchange, like, limitHeaders, on, type Step, times } from './exchange.ts';

/** What sections 4.1 and 4.2 of part B, and `employer-api.md` (E), say. */

const publicationsOf = 'GET /instructions/manuals/{manual}/publications';
const permissionsOf = 'GET /instructions/workspaces/{workspace}/permissions';
const keyed: Step = ['POST /instructions/workspaces', { name: 'A' }, 'k'];
const listed = { given: ['manual', 'GET /instructions/workspaces'] };

const onInstructions = [
  on('workspaces (E)', 'GET /instructions/workspaces', {}, 200, {
    fields: { '': 'workspaces nextCursor' },
    values: { workspaces: [{ name: anyText }] },
  }),
  on('manuals (E)', 'GET /instructions/workspaces/{workspace}/manuals', listed, 200, {
    fields: { '': 'manuals nextCursor' },
    values: { manuals: [{ title: anyText }] },
  }),
  on('a manual', 'GET /instructions/manuals/{manual}', { given: ['manual'] }, 200),
  on('publications (E)', publicationsOf, { given: ['manual'] }, 200, {
    fields: { '': 'publications nextCursor' },
    values: { publications: [{ publicationNumber: 1, baseRevisionNumber: 1, audiences: anyList, note: null }] },
  }),
  on('the manifest (E)', `${publicationsOf}/1/manifest`, { given: ['manual'] }, 200, {
    fields: {
      '': 'publicationNumber revisionNumber pages',
      'pages.0': 'pageId title revision parentId position audience checksum',
    },
    values: { publicationNumber: 1, revisionNumber: 1, pages: [{ pageId: '{page}', parentId: null }] },
  }),
  on('a key is of one body', 'POST /instructions/workspaces', { given: [keyed], body: { name: 'B' }, key: 'k' }, 409),
  on('a key is repeated', 'GET /instructions/workspaces', { given: [keyed, keyed] }, 200, {
    text: /^(?=.*"A")(?!.*"A".*"A")/,
  }),
  ...['instructions:read', 'instructions:publish'].map((scope) =>
    on(`permissions with ${scope} alone`, permissionsOf, { given: listed.given, as: [scope] }, 403),
  ),
  on('no such publication', `${publicationsOf}/2/manifest`, { given: ['manual'] }, 404),
  on("another account's manual", 'GET /instructions/manuals/{manual}', { given: ['manual'], as: 'stranger' }, 404),
  ...['revision=1&format=json', 'format=html', 'format=markdown'].map((query) =>
    on(`a page with ${query}`, `GET /instructions/pages/{page}?${query}`, { given: ['manual'] }, 200, {
      values: { page: { content: anyRecord } },
    }),
  ),
  on('the losses of Markdown', 'GET /instructions/pages/{page}?format=markdown', { given: ['manual'] }, 200, {
    text: /loss/i,
  }),
  on('another format', 'GET /instructions/pages/{page}?format=pdf', { given: ['manual'] }, 400),
  on('no such page', 'GET /instructions/pages/pag_0', {}, 404),
];

const bytesOf = 'GET /messages/{message}/attachments/{attachment}';
const noFile = { details: { resource: 'message_attachment' } };
const always = {
  ...{ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
  'content-security-policy': like(/\bsandbox\b/),
};
const whole = {
  ...{ 'content-type': 'image/png', 'content-disposition': like(/^attachment\b/), 'content-length': '' },
  ...{ 'x-opentrain-byte-size': '{size}', 'x-opentrain-sha256': '{sha256}', 'x-opentrain-mime-type': 'image/png' },
  ...{ 'x-opentrain-message-id': '{message}', 'x-opentrain-attachment-id': '{attachment}', ...always },
  'x-opentrain-source': like(/^(PRIVATE_STORAGE|LEGACY_EXTERNAL)$/),
};
const plain = { 'content-type': 'application/octet-stream', 'x-opentrain-delivery': 'resource' };
const [zeros, nines] = [`att_${'0'.repeat(32)}`, `att_${'9'.repeat(32)}`];

const onAttachments = [
  ...['', 'bytes', 'inline', 'resource', 'auto'].map((delivery) => {
    const resolved = delivery === 'auto' ? 'inline' : delivery || 'bytes';
    const ask = delivery === '' ? bytesOf : `${bytesOf}?delivery=${delivery}`;
    return on(`delivered ${delivery || 'by default'}`, ask, { given: ['attach'] }, 200, {
      headers: { ...whole, 'x-opentrain-delivery': resolved },
    });
  }),
  on('a large picture', `${bytesOf}?delivery=auto`, { given: ['attach large'] }, 200, {
    headers: { 'content-type': 'image/png', 'x-opentrain-delivery': 'resource' },
  }),
  on('the type of the bytes', `${bytesOf}?delivery=auto`, { given: ['attach text'] }, 200, { headers: plain }),
  ...[
    ['MESSAGE_ID_REQUIRED', '%20', zeros],
    ['INVALID_MESSAGE_ID', 'm'.repeat(129), zeros],
    ['INVALID_ATTACHMENT_ID', 'msg_0', 'att_0'],
    ['INVALID_ATTACHMENT_ID', 'msg_0', `att_${'A'.repeat(32)}`],
    ['INVALID_DELIVERY', 'msg_0', `${zeros}?delivery=`],
    ['INVALID_DELIVERY', 'msg_0', `${zeros}?delivery=post`],
    ['INVALID_DELIVERY', 'msg_0', `${zeros}?delivery=bytes&delivery=bytes`],
  ].map(([reason, message, attachment], index) =>
    on(
      `${reason} before authentication, ${index}`,
      `GET /messages/${message}/attachments/${attachment}`,
      { as: 'none' },
      400,
      {
        details: { reason },
        headers: always,
      },
    ),
  ),
  on('no such message', `GET /messages/msg_0/attachments/${zeros}`, {}, 404, noFile),
  on('the longest id', `GET /messages/${'m'.repeat(128)}/attachments/${zeros}`, {}, 404, noFile),
  on('no such file', `GET /messages/{message}/attachments/${nines}`, { given: ['attach'] }, 404, noFile),
  on("another account's", bytesOf, { given: ['attach'], as: 'stranger' }, 404, noFile),
  ...unavailableReasons.map((reason) =>
    on(reason, bytesOf, { given: [`attach ${reason}`] }, 409, { code: 'ATTACHMENT_UNAVAILABLE', details: { reason } }),
  ),
  on('a deleted message', `GET /messages/{message}/attachments/${nines}`, { given: ['attach MESSAGE_DELETED'] }, 409, {
    code: 'ATTACHMENT_UNAVAILABLE',
    details: { reason: 'MESSAGE_DELETED' },
  }),
  on('10 reads a minute', bytesOf, { given: ['attach', ...times(10, [bytesOf])] }, 429, { headers: limitHeaders }),
  on('10 reads from an address', bytesOf, { given: ['attach', ...times(10, [bytesOf])], as: ['messages:read'] }, 429),
  on('more later', bytesOf, { given: ['attach', ...times(10, [bytesOf]), 'wait 1'] }, 200),
];

const memberOf = 'GET /messaging/management/messaging_management.members.get?';
const met = { given: ['hire', 'GET /contracts/{contract}'] };

const onMembers = [
  on('a member (E)', `${memberOf}conversationId={conversation}&contractId={contract}&includeWorkEmail=true`, met, 200, {
    values: { membership: { contractId: '{contract}', workEmail: like(/@/) } },
  }),
  ...['contractId=ctr_0', 'userId=usr_0', 'workEmail=nobody@opentrain.work'].map((selector) =>
    on(`no member by ${selector}`, `${memberOf}conversationId={conversation}&${selector}`, met, 200, {
      values: { membership: 'none' },
    }),
  ),
  on('no selector', `${memberOf}conversationId={conversation}`, met, 400),
  on('two selectors', `${memberOf}conversationId={conversation}&contractId={contract}&userId=usr_0`, met, 400),
  on('no conversation', `${memberOf}contractId={contract}`, met, 400),
];

export const manualsAndMessages: Record<string, Exchange[]> = {
  'B 4.1': onInstructions,
  'B 4.2': [...onAttachments, ...onMembers],
};
