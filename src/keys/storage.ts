import type { Database } from '../db/database.ts';
import type { SecretBox } from './secret-box.ts';

/** What the stores read and write with. Every `Context` is one. */
export interface Storage {
  database: Database;
  box: SecretBox;
}
