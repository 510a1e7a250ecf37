import assert from 'node:assert/strict';
import type { Request, Response } from 'express';
import { AppError } from '../../../src/domain/errors.ts';
import { createConsoleTokens, createSessions } from '../../../src/http/console/sign-in.ts';
import { createSecretBox } from '../../../src/keys/secret-box.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { consoleTokens } from '../../support/visitor.ts';
import type { Mutator } from '../mutator.ts';
import type { Opened, Target } from '../target.ts';

const box = createSecretBox(Buffer.alloc(32, 7));
const other = createSecretBox(Buffer.alloc(32, 1));
const plain = Buffer.from('amara.o@opentrain.work');
const context = 'person.work_email:1';

export const sealedValues: Target = {
  name: 'sealed values',
  inputs: { long: 100_000, short: 666 },
  reaches: ['opened', 'refused'],
  open: () => ({ judge: judgeSealed }),
};

function judgeSealed(chance: Mutator): string {
  const maker = chance.pick([box, other]);
  const sealed = maker.seal(plain, context);
  const given = chance.oneIn(3) ? sealed : chance.bytes(sealed);
  const where = chance.oneIn(3) ? chance.text(context) : context;
  const isSame = given.equals(sealed) && Buffer.from(where).equals(Buffer.from(context)) && maker !== other;
  try {
    const opened = box.open(given, where);
    assert.ok(isSame && opened.equals(plain), 'a changed value opened');
    return 'opened';
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'internal', String(error));
    assert.ok(!isSame, 'a right value did not open');
    return 'refused';
  }
}

export const sessionCookies: Target = {
  name: 'session cookies',
  inputs: { long: 100_000, short: 666 },
  reaches: ['session', 'none'],
  open: openCookies,
};

function openCookies(): Opened {
  const clock = createFakeClock();
  const tokens = createConsoleTokens(new Map(Object.entries(consoleTokens)), box);
  const sessions = createSessions(tokens, box, clock);
  const owner = tokens.find(consoleTokens.vera.token);
  assert.ok(owner !== undefined);
  let cookie = '';
  const keep = (_name: string, value: string) => {
    cookie = value;
  };
  const response = { cookie: keep } as unknown as Response;
  sessions.open(toRequest(undefined), response, owner);
  const foreign = other.seal(box.open(Buffer.from(cookie, 'base64url'), 'console.session'), 'console.session');
  const forged = [foreign, box.seal(plain, context)].map((value) => value.toString('base64url'));
  const bytesOf = (value: string) => Buffer.from(value, 'base64url');

  function judge(chance: Mutator): string {
    const value = chance.pick([
      cookie,
      cookie,
      chance.text(cookie),
      chance.bytes(bytesOf(cookie)).toString('base64url'),
      ...forged,
    ]);
    const header = chance.oneIn(3) ? chance.text(`a=b; gangway=${value}; c=d`) : `a=b; gangway=${value}`;
    const session = sessions.read(toRequest(header));
    if (session === undefined) return 'none';
    const given = header.split(';').map((pair) => pair.trim().split('='));
    assert.ok(
      given.some(([name, sent = '']) => name === 'gangway' && bytesOf(sent).equals(bytesOf(cookie))),
      header,
    );
    assert.deepEqual(session.operator, { name: 'vera', role: 'viewer' });
    return 'session';
  }
  return { judge };
}

function toRequest(cookie: string | undefined): Request {
  return { headers: { cookie }, secure: false } as Request;
}
