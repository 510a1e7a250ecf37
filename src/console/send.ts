import type { Response } from 'express';
import { type Counts, layOut } from './layout.ts';
import type { Answer, Page } from './page.ts';
import type { Session } from './sign-in/session.ts';

export interface Framed {
  path: string;
  /** Whether it is a view, which keeps itself up to date. */
  isLive?: boolean;
  session: Session | undefined;
  counts?: Counts;
  /** What came of the act before. */
  notice?: string | undefined;
}

export async function send(
  response: Response,
  answer: Answer,
  { isLive = false, counts = {}, ...framed }: Framed,
): Promise<void> {
  if ('redirect' in answer) return response.redirect(303, answer.redirect);
  if ('content' in answer) {
    response.attachment(answer.fileName).type(answer.type);
    response.send(typeof answer.content === 'string' ? answer.content : Buffer.from(answer.content));
    return;
  }
  const { status = 200, refreshSeconds, isStill = false, ...page }: Page = answer;
  if (refreshSeconds !== undefined) response.set('Refresh', String(refreshSeconds));
  response
    .status(status)
    .type('html')
    .send(String(await layOut({ ...page, isLive: isLive && !isStill, counts, ...framed })));
}
