import { AppError } from '../domain/errors.ts';
import type { Database } from './database.ts';
import { openPostgres } from './postgres-database.ts';
import { type OpenOptions, openSqlite } from './sqlite-database.ts';

/** @param url `sqlite:<file>`, `sqlite::memory:` or `postgres://…` */
export function openDatabase(url: string, options: OpenOptions = {}): Database {
  if (url.startsWith('sqlite:')) return openSqlite(url, options);
  if (/^postgres(ql)?:/.test(url)) return openPostgres(url);
  throw new AppError('invalid', 'database.url must begin with sqlite: or postgres://');
}
