import { toAppError } from '../domain/errors.ts';
import { type ConfigFault, type Document, isDocument, withValueAt } from './document.ts';
import { readSmallFile } from './small-file.ts';

const path = ['mail', 'template'];

/** A copy with the text of the mail in place of the name of its file, where one is named. */
export function readTemplate(document: Document, folder: string): { document: Document; faults: ConfigFault[] } {
  const { mail } = document;
  const file = isDocument(mail) ? mail['template'] : undefined;
  if (typeof file !== 'string') return { document, faults: [] };
  try {
    const text = readSmallFile(file, folder);
    return { document: withValueAt(document, path, text) as Document, faults: [] };
  } catch (error) {
    return { document, faults: [{ path, message: toAppError(error).message }] };
  }
}
