import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type RequestHandler, Router } from 'express';
import helmet from 'helmet';

/** The files that pages load, by their name: beside this file, and beside the bundle. */
const own = ['style.css', 'parts.css', 'table.css', 'live.js', 'page.js', 'icon.svg'] as const;

const policy = 'public, max-age=300';

export function createAssets(): Router {
  const router = Router();
  for (const name of own)
    router.get(`/assets/${name}`, sendFile(fileURLToPath(new URL(`assets/${name}`, import.meta.url))));
  router.get('/assets/idiomorph.js', sendFile(findIdiomorph()));
  return router;
}

function sendFile(file: string): RequestHandler {
  return (_request, response) => {
    response.set('Cache-Control', policy);
    // The files are small: a range of one is answered with all of it.
    response.sendFile(file, { acceptRanges: false, cacheControl: false });
  };
}

/** The bundle has a copy of its own. */
function findIdiomorph(): string {
  const copied = fileURLToPath(new URL('assets/idiomorph.js', import.meta.url));
  if (existsSync(copied)) return copied;
  return createRequire(import.meta.url).resolve('idiomorph/dist/idiomorph.esm.js');
}

const none = ["'none'"];
const self = ["'self'"];

/** Nothing is loaded from elsewhere, no inline script runs, and no other page can frame this one. */
export const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: none,
      scriptSrc: self,
      styleSrc: self,
      imgSrc: self,
      connectSrc: self,
      formAction: self,
      baseUri: none,
      frameAncestors: none,
    },
  },
  xFrameOptions: { action: 'deny' },
  // Browsers send the origin of a form only to where they would send the referrer.
  referrerPolicy: { policy: 'same-origin' },
  strictTransportSecurity: false,
});
