import helmet from 'helmet';

const none = ["'none'"];
const self = ["'self'"];

/** Nothing is loaded from elsewhere, nothing runs that stands in a page, and no other page shows this one. */
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
