import { eventBodies } from './borders/event-bodies.ts';
import { signatureHeader } from './borders/signature-header.ts';
import type { Target } from './target.ts';

/** Every border. */
export const targets: readonly Target[] = [signatureHeader, eventBodies];
