import { type DestinationStream, type Logger, pino } from 'pino';
import { AppError } from '../domain/errors.ts';
import type { Clock } from './clock.ts';
import { maskText } from './mask.ts';

export type { Logger };

const secretKeys = ['token', 'secret', 'password', 'authorization', 'email', 'workEmail', 'body'];

interface LoggerOptions {
  level: string;
  destination: DestinationStream;
}

/**
 * Writes JSON lines. Fields that may contain a secret are removed by their names, and error messages of
 * other systems are masked, so that a careless call cannot leak a secret.
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

/** The message of an expected failure is enough. Only an unexpected error is logged with its stack. */
function needsStack(error: Error): boolean {
  return !(error instanceof AppError) || error.code === 'internal';
}

/** Limits how often the same message is logged, so that the log stays readable and the disk does not fill. */
export interface Quiet {
  /** @returns how many messages were held back since the last one; null to hold this one back */
  letThrough(key: string): number | null;
  /** Lets the next message through, because what the last one said is over. */
  forget(key: string): void;
}

/** One message for each key in `quietMs`. Keys must come from a small set. */
export function createQuiet(clock: Clock, quietMs = 60_000): Quiet {
  const states = new Map<string, { until: number; heldBack: number }>();
  return {
    letThrough(key) {
      const now = clock.now().getTime();
      const state = states.get(key) ?? { until: 0, heldBack: 0 };
      // After the clock was set back, nothing waits for the old time.
      if (now < state.until && now >= state.until - quietMs) {
        state.heldBack += 1;
        return null;
      }
      states.set(key, { until: now + quietMs, heldBack: 0 });
      return state.heldBack;
    },
    forget: (key) => void states.delete(key),
  };
}
