// In the bundle, in the place of @opentelemetry/api.
module.exports = {};
