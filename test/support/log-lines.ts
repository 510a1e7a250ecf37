import { createLogger, type Logger } from '../../src/lib/logger.ts';

export interface LogLines {
  logger: Logger;
  /** What was written so far, as it was written. */
  text(): string;
  /** The same, read. */
  lines(): Record<string, unknown>[];
}

/** The real logger, writing into memory. */
export function createLogLines(): LogLines {
  const written: string[] = [];
  const destination = { write: (line: string) => void written.push(line) };
  return {
    logger: createLogger({ level: 'trace', destination }),
    text: () => written.join(''),
    lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
