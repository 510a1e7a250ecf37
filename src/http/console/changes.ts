import type { Response } from 'express';

export type Changes = ReturnType<typeof createChanges>;

/** Pages are told to reload at most this often. */
const restMs = 2000;
/** Proxies close a silent stream. */
const beatMs = 20_000;
const mostFollowers = 200;

/** Tells open pages that something was written to the database, so that they reload. */
export function createChanges() {
  const followers = new Set<Response>();
  let pause: NodeJS.Timeout | undefined;
  let isLate = false;

  function send(text: string): void {
    for (const follower of followers) follower.write(text);
  }

  /** Called when this process or another one has written to the database. */
  function tell(): void {
    isLate = pause !== undefined;
    if (isLate || followers.size === 0) return;
    send('data: changed\n\n');
    pause = setTimeout(() => {
      pause = undefined;
      if (isLate) tell();
    }, restMs).unref();
  }

  const beat = setInterval(() => send(':\n\n'), beatMs).unref();
  return {
    tell,
    /** Answers with a stream of events until the page is closed. */
    follow(response: Response): void {
      if (followers.size >= mostFollowers) {
        response.status(503).end();
        return;
      }
      followers.add(response);
      response.once('close', () => followers.delete(response));
      // Without chunks, the stream ends with its connection, and browsers do not report an error.
      response.removeHeader('Transfer-Encoding');
      response.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store',
        Connection: 'close',
      });
      response.write(':\n\n');
    },
    /** Ends all streams, so that a stopping instance does not wait for them. */
    close(): void {
      clearInterval(beat);
      clearTimeout(pause);
      for (const follower of followers) follower.end();
    },
  };
}
