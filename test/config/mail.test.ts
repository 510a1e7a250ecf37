import { describe, expect, it } from 'vitest';
import { faultsOf as faultsIn, loadWritten } from './workspace.ts';

const url = 'smtps://studio:secret@smtp.example.com';
const env = { SMTP_URL: url };
const usual = { smtp: { env: 'SMTP_URL' }, from: 'Studio <studio@example.com>' };

function load(mail: object, files: Record<string, string> = {}, variables = env) {
  return loadWritten({ mail }, variables, files);
}

function faultsOf(mail: object, files: Record<string, string> = {}): string[] {
  return faultsIn(() => load(mail, files));
}

describe('the section mail', () => {
  it('is undefined by default', () => {
    expect(loadWritten({}, {}).config.mail).toBeUndefined();
  });

  it('becomes a server and a style', () => {
    const { config, warnings } = load(usual);
    expect(config.mail).toEqual({
      smtp: { host: 'smtp.example.com', port: 465, isEncrypted: true, login: { user: 'studio', password: 'secret' } },
      from: 'Studio <studio@example.com>',
      subject: 'How to get into {project}',
    });
    expect(warnings).toEqual([]);
  });

  it.each([
    ['smtp://localhost:1025', { host: 'localhost', port: 1025, isEncrypted: false, login: null }],
    ['smtp://[::1]', { host: '::1', port: 587, isEncrypted: false, login: null }],
    [
      'smtps://studio%40example.com:p%40ss%3A%2F@smtp.example.com:2465/',
      {
        host: 'smtp.example.com',
        port: 2465,
        isEncrypted: true,
        login: { user: 'studio@example.com', password: 'p@ss:/' },
      },
    ],
  ])('reads %s', (smtp, server) => {
    expect(load(usual, {}, { SMTP_URL: smtp }).config.mail?.smtp).toEqual(server);
  });

  it.each([
    'https://smtp.example.com',
    'smtp.example.com:465',
    'smtps:///',
    'smtps://smtp.example.com/?tls.rejectUnauthorized=false',
    'smtps://u:p%zz@smtp.example.com',
    'smtps://smtp.example.com:99999',
    'smtps://smtp.example.com/path',
  ])('refuses %s, and does not quote it', (smtp) => {
    const [fault, ...others] = faultsOf({ ...usual, smtp });
    expect(fault).toMatch(/^mail\.smtp: write "smtps:\/\/user:password@host:465"/);
    expect([others, fault?.includes(smtp)]).toEqual([[], false]);
  });

  it('warns about a password that is written out, and about a server without TLS', () => {
    expect(load({ ...usual, smtp: url }).warnings).toEqual([
      expect.stringMatching(/^mail\.smtp: the secret is written out/),
    ]);
    expect(load(usual, {}, { SMTP_URL: 'smtp://smtp.example.com' }).warnings).toEqual([
      expect.stringMatching(/^mail\.smtp: smtp:\/\/ begins in the clear/),
    ]);
    expect(load({ ...usual, smtp: 'smtp://127.0.0.1:1025' }).warnings).toEqual([]);
  });

  it.each([
    [{ from: 'gangway' }, /^mail\.from: write an address/],
    [{ from: 'A <a@example.com>\r\nBcc: b@example.com' }, /^mail\.from: write an address/],
    [{ from: 'a@example.com, b@example.com' }, /^mail\.from: write an address/],
    [{ replyTo: 'a b@example.com' }, /^mail\.replyTo: write an address/],
    [{ subject: 'one\ntwo' }, /^mail\.subject: must be one line/],
    [{ subject: 'Use {link}' }, /^mail\.subject: \{link\} is no placeholder here/],
    [{ subjct: 'x' }, /^mail\.subjct: unknown key \(did you mean "subject"\?\)/],
  ])('refuses %j', (changes, fault) => {
    expect(faultsOf({ ...usual, ...changes })).toEqual([expect.stringMatching(fault)]);
  });

  it('says what is missing', () => {
    expect(faultsOf({})).toEqual([
      expect.stringMatching(/^mail\.smtp: is missing\. The mail server/),
      expect.stringMatching(/^mail\.from: is missing\. The sender: an address/),
    ]);
  });

  it('reads the text from the file of the template', () => {
    const template = './texts/invitation.txt';
    const text = 'Hi {name},\n{link}\n';
    const { config } = load({ ...usual, template }, { 'texts/invitation.txt': text });
    expect(config.mail?.template).toBe('Hi {name},\n{link}');
  });

  it.each<[string | undefined, RegExp]>([
    [undefined, /^mail\.template: the file .*invitation\.txt does not exist$/],
    ['', /^mail\.template: the file .*invitation\.txt is empty$/],
    ['Hi {name}', /^mail\.template: must have \{link\}/],
    ['{link} {projekt}', /^mail\.template: \{projekt\} is no placeholder here \(did you mean "project"\?\)$/],
  ])('refuses a template with %j', (text, fault) => {
    const files = text === undefined ? {} : { 'invitation.txt': text };
    expect(faultsOf({ ...usual, template: './invitation.txt' }, files)).toEqual([expect.stringMatching(fault)]);
  });
});
