import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';
import { stripVTControlCharacters as withoutColors } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { createLogger, type Logger } from '../../src/lib/logger.ts';
import { toLogDestination } from '../../src/lib/readable-log.ts';

/** What a log writes in such a format to such a stream. */
function write(format: 'auto' | 'json' | 'text', log: (logger: Logger) => void, options: { isTTY?: boolean } = {}) {
  const { getColorDepth } = WriteStream.prototype;
  const stream = Object.assign(new PassThrough(), options, { getColorDepth });
  log(createLogger({ level: 'info', destination: toLogDestination(format, stream) }));
  return String(stream.read());
}

const simple = (logger: Logger) => logger.info({ install: 'acme', says: 'two words' }, 'A delivery was stored');
const readable = /^\d\d:\d\d:\d\d info {2}A delivery was stored install=acme says="two words"\n$/;

it('is text on a terminal, and JSON elsewhere', () => {
  expect(JSON.parse(write('auto', simple))).toMatchObject({ install: 'acme', msg: 'A delivery was stored' });
  const [erased = '', line = ''] = write('auto', simple, { isTTY: true }).split('\u001b[K');
  // Where the progress of a command was.
  expect(erased).toBe('\r');
  expect(withoutColors(line)).toMatch(readable);
});

it('follows log.format', () => {
  expect(JSON.parse(write('json', simple, { isTTY: true }))).toMatchObject({ install: 'acme' });
  expect(withoutColors(write('text', simple))).toMatch(readable);
});

it.each([
  [true, {}, true],
  [true, { NO_COLOR: '1' }, false],
  [false, {}, false],
])('with a terminal (%s) and %j has colours: %s', (isTTY, variables, has) => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const written = write('text', (logger) => logger.warn('The clock is off'), { isTTY });
  expect(written.includes('\u001b[33mwarn')).toBe(has);
});

it('shows the causes of an error, and the stack of an unexpected one', () => {
  const refused = new AppError('unavailable', 'The tool refused', { cause: new AppError('invalid', 'HTTP 400') });
  expect(withoutColors(write('text', (logger) => logger.warn({ err: refused, tool: 'studio' }, 'Not added')))).toMatch(
    /warn {2}Not added: The tool refused: HTTP 400 tool=studio\n$/,
  );
  const unexpected = write('text', (logger) => logger.error({ err: new TypeError('no such method') }, 'A loop failed'));
  expect(withoutColors(unexpected)).toMatch(/error A loop failed: no such method \n {4}at .*readable-log\.test/);
});

it('writes no control characters', () => {
  const hostile = '\u001b]0;title\u0007\u009b31mred\r\nfake line';
  const written = write('text', (logger) =>
    logger.info({ name: hostile, err: new AppError('invalid', hostile) }, hostile),
  );
  expect(withoutColors(written).trimEnd()).not.toMatch(/[\p{Cc}]/u);
});
