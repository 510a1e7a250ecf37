import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createLogLines } from '../support/log-lines.ts';

const email = 'amara.o@opentrain.work';
const token = 'ot_ptk_c2VjcmV0';

describe('a log line', () => {
  it('is JSON with its level, its time and its fields', () => {
    const { logger, lines } = createLogLines();
    logger.info({ install: 'acme', delivery: 7 }, 'A delivery was stored');
    expect(lines()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        install: 'acme',
        delivery: 7,
        msg: 'A delivery was stored',
      },
    ]);
  });

  it('is written only from its level upwards', () => {
    const written: string[] = [];
    const destination = { write: (line: string) => void written.push(line) };
    const logger = createLogger({ level: 'warn', destination });
    logger.info('not this');
    logger.warn('but this');
    expect(written).toHaveLength(1);
  });

  it.each(['token', 'secret', 'password', 'authorization', 'email', 'workEmail', 'body'])(
    'hides what stands under %s, down to the third level',
    (name) => {
      const { logger, lines, text } = createLogLines();
      const hidden = { [name]: 'hide-me' };
      logger.info({ ...hidden, one: { ...hidden, two: hidden }, list: [hidden] }, 'a line');
      const shown = { [name]: '[redacted]' };
      expect(lines()).toMatchObject([{ ...shown, one: { ...shown, two: shown }, list: [shown] }]);
      expect(text()).not.toContain('hide-me');
    },
  );

  it('does not change the logged object', () => {
    const { logger } = createLogLines();
    const fields = { token, one: { token } };
    logger.info(fields, 'a line');
    expect(fields).toEqual({ token, one: { token } });
  });
});

describe('a logged error', () => {
  it("has the message, the code and the other system's answer, masked", () => {
    const { logger, lines } = createLogLines();
    const error = new AppError('conflict', `Could not invite ${email}`, {
      status: 409,
      requestId: 'req-1',
    });
    logger.error({ err: error }, 'A call failed');
    expect(lines()).toMatchObject([
      {
        err: {
          message: 'Could not invite a…@opentrain.work',
          code: 'conflict',
          status: 409,
          requestId: 'req-1',
        },
      },
    ]);
    expect(lines()[0]?.['err']).not.toHaveProperty('stack');
  });

  it('has its stack, masked, if it was not expected', () => {
    const { logger, lines, text } = createLogLines();
    const cause = new Error(`no ${email}`, { cause: new Error(`bad ${token}`) });
    logger.error({ err: new AppError('internal', `broken at ${token}`, { cause }) }, 'A fault');
    expect(lines()).toMatchObject([
      {
        err: {
          message: 'broken at ot_ptk_…',
          stack: expect.stringContaining('logger.test.ts'),
          cause: { message: 'no a…@opentrain.work', cause: { message: 'bad ot_ptk_…' } },
        },
      },
    ]);
    expect(text()).not.toContain(email);
    expect(text()).not.toContain(token);
  });

  it('shows no fields of other libraries', () => {
    const { logger, text } = createLogLines();
    const error = Object.assign(new Error('duplicate key'), {
      detail: `Key (email)=(${email}) already exists`,
      config: { headers: { authorization: token } },
    });
    logger.error({ err: error }, 'A fault');
    expect(text()).not.toContain(email);
    expect(text()).not.toContain(token);
  });

  it('may be anything that was thrown', () => {
    const { logger, lines } = createLogLines();
    for (const thrown of [`no ${email}`, undefined, { message: 'an object' }]) {
      logger.error({ err: thrown, loop: 'x' }, 'A fault');
    }
    expect(lines()[0]).toMatchObject({ err: { message: 'no a…@opentrain.work' } });
    expect(lines()).toHaveLength(3);
  });
});
