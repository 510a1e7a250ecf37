import type { Response } from 'express';
import { type Frame, layOut } from './layout.ts';
import type { Answer } from './page.ts';

export async function send(response: Response, answer: Answer, frame: Frame): Promise<void> {
  if ('redirect' in answer) return response.redirect(303, answer.redirect);
  if ('content' in answer) {
    response.attachment(answer.fileName).type(answer.type);
    response.send(typeof answer.content === 'string' ? answer.content : Buffer.from(answer.content));
    return;
  }
  const { status = 200, refreshSeconds } = answer;
  if (refreshSeconds !== undefined) response.set('Refresh', String(refreshSeconds));
  response
    .status(status)
    .type('html')
    .send(String(await layOut(answer, frame)));
}
