import type { Channel } from './channel.ts';
import { composeDigest } from './compose-digest.ts';
import { longestPostMs, postMessage } from './post-message.ts';

export interface SlackSettings {
  type: 'slack';
  url: string;
}

/** Discord's limit, the lowest of the services that accept Slack's format. */
const maxLength = 2000;

/** Sends what waits as one message. */
export function createSlackChannel(name: string, { url }: SlackSettings, longestSendMs = longestPostMs): Channel {
  return {
    name,
    maxNotices: 500,
    longestSendMs,
    async send({ notices }, signal) {
      const { title, lines } = composeDigest(notices, maxLength, escapeText);
      const text = [title, ...lines].join('\n');
      return await postMessage({ url, body: { text }, timeoutMs: longestSendMs }, signal);
    },
  };
}

/** The three characters that have a meaning in Slack (links, mentions). */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
