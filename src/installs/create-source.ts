import type { Install } from '../domain/install.ts';
import type { RestToken } from '../lib/rest-client.ts';
import { createEmployerSource } from '../sources/employer/create-employer-source.ts';
import type { JobLinks } from '../sources/job-links.ts';
import { createPlatformSource } from '../sources/platform/create-platform-source.ts';
import type { Source } from '../sources/source.ts';

/** The root addresses of the marketplace's two APIs. */
export interface Marketplace {
  baseUrl: string;
  employerBaseUrl: string;
}

/** The source of an install. Nothing else asks which kind it is. */
export function createSource(
  { baseUrl, employerBaseUrl }: Marketplace,
  { source, token }: Pick<Install, 'source'> & { token: RestToken },
  links: JobLinks,
): Source {
  switch (source) {
    case 'platform':
      return createPlatformSource({ baseUrl, token });
    case 'employer':
      return createEmployerSource({ baseUrl: employerBaseUrl, token, links });
  }
}
