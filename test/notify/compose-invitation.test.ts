import { describe, expect, it } from 'vitest';
import type { Invited } from '../../src/notify/mail-store.ts';
import { composeInvitation } from '../../src/notify/mail-worker.ts';

const style = { from: 'Studio <studio@example.com>', subject: 'How to get into {project}' };
const date = new Date('2026-03-15T12:00:00.000Z');
const invited: Invited = {
  membershipId: 7,
  address: 'amara.o@opentrain.work',
  displayName: 'Amara O.',
  project: 'Street signs',
  url: 'https://tool.example.com/signup/1',
  expiresAt: null,
  createdAt: '2026-03-15T11:00:00.000Z',
};

const compose = (changes: Partial<Invited> = {}, styled: object = {}) =>
  composeInvitation({ ...style, ...styled }, { ...invited, ...changes }, date);

describe('the mail of an invitation', () => {
  it('names the trainer, the project and the link', () => {
    expect(compose()).toEqual({
      from: style.from,
      replyTo: undefined,
      to: invited.address,
      date,
      subject: 'How to get into Street signs',
      text: expect.stringMatching(
        /^Hello Amara O\.,\n\n.* Street signs\..*\n\nhttps:\/\/tool\.example\.com\/signup\/1\n\nThe link is valid until further notice\./,
      ),
      messageId: expect.stringMatching(/^<gangway\.invitation\.7\.\w+@example\.com>$/),
    });
  });

  it('replaces unknown names', () => {
    const bare = compose({ displayName: null, project: null });
    expect(bare).toMatchObject({ subject: 'How to get into your project' });
    expect(bare?.text).toMatch(/^Hello there,/);
  });

  it('says how long the link is valid', () => {
    const template = '{link} {expires}';
    expect(compose({ expiresAt: '2026-03-20T08:30:00.000Z' }, { template })?.text).toBe(
      `${invited.url} until 2026-03-20 08:30 UTC`,
    );
  });

  it('inserts what strangers chose, and never treats it as a template', () => {
    const displayName = '{link} {project} $& $1';
    const project = '{name} {link}';
    const template = '{name}|{project}|{link}|{other}';
    expect(compose({ displayName, project }, { template })?.text).toBe(
      `${displayName}|${project}|${invited.url}|{other}`,
    );
  });

  it.each([
    ['Eve\r\nBcc: all@example.com', 'Eve Bcc: …'],
    ['Eve, see evil.com/login', 'Eve, see …'],
    [`${'a'.repeat(95)} 1.2.3.45`, `${'a'.repeat(95)} 1.2.`],
    ['\u001b[31mEve\u001b[0m\u0007', 'Eve'],
    ['\u202eevE', 'evE'],
    ['Eve https://evil.example/login', 'Eve …'],
    ['see www.evil.example', 'see …'],
    ['E'.repeat(300), 'E'.repeat(100)],
    ['\u0000 ', 'there'],
  ])('shows the name %j as %j', (displayName, shown) => {
    const subject = '{name}';
    expect(compose({ displayName }, { subject, template: '{name}' })).toMatchObject({ subject: shown, text: shown });
  });

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://tool.example.com/',
    'https://',
    'https://tool.example.com/a b',
    'https://tool.example.com/\nhttps://evil.example',
    '',
  ])('is not composed for the link %j', (url) => {
    expect(compose({ url })).toBeNull();
  });

  it('has an id for each invitation, the same each time it is composed', () => {
    const id = compose()?.messageId;
    expect(compose()?.messageId).toBe(id);
    expect(compose({ membershipId: 8 })?.messageId).not.toBe(id);
    expect(compose({ createdAt: '2026-03-15T11:00:00.001Z' })?.messageId).not.toBe(id);
  });
});
