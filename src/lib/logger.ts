import { type DestinationStream, type Logger, pino } from 'pino';
import { AppError } from '../domain/errors.ts';
import { maskText } from './mask.ts';

export type { Logger };

const secretKeys = ['token', 'secret', 'password', 'authorization', 'email', 'workEmail', 'body'];

interface LoggerOptions {
  level: string;
  destination: DestinationStream;
}

/**
 * Writes JSON lines. Fields that may contain a secret are removed by name, and error messages are masked, so that a careless
 * call leaks no secret.
 */
export function createLogger({ level, destination }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]),
        censor: '[redacted]',
      },
      serializers: { err: toLoggedError },
    },
    destination,
  );
}

function toLoggedError(error: unknown): object {
  if (!(error instanceof Error)) return { message: maskText(String(error)) };
  const { message, stack, cause } = error;
  return {
    message: maskText(message),
    ...(error instanceof AppError && {
      code: error.code,
      status: error.status,
      requestId: error.requestId,
    }),
    ...(needsStack(error) && stack !== undefined && { stack: maskText(stack) }),
    ...(cause !== undefined && { cause: toLoggedError(cause) }),
  };
}

/** For an expected failure, the message is enough. */
function needsStack(error: Error): boolean {
  return !(error instanceof AppError) || error.code === 'internal';
}
