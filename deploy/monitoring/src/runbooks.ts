/** Directory of the runbooks, relative to the root. The chart prepends the base URL. */
export const RUNBOOKS = 'docs/runbooks/';

/** By dashboard and panel title: the alerts whose runbooks the panel links. */
export const PANELS: Record<string, Record<string, string[]>> = {
  'crs-overview': {
    'availability: error budget left': ['CallResearchAvailability'],
    'latency: error budget left': ['CallResearchLatency'],
    'Processes ready': ['CallResearchServiceGone', 'CallResearchScrapeGone'],
    'Requests by status': ['CallResearchNothingServed'],
    'Shed by': ['CallResearchShedding'],
  },
  'crs-service': {
    Breakers: ['CallResearchBreakerOpen'],
    Shed: ['CallResearchShedding'],
    'Event loop delay': ['CallResearchEventLoopBlocked'],
    Ready: ['CallResearchNotReady'],
    Starts: ['CallResearchRestarting'],
    'Refused operators': ['CallResearchOperatorRefusals'],
    'Certificates end in': ['CallResearchCertificateExpiry', 'CallResearchAuthorityExpiry'],
    'Autoscaler: pods of its maximum': ['CallResearchAutoscalerAtMaximum'],
    'Failed Jobs': ['CallResearchJobFailed'],
    'Webhooks: since the last poll': ['CallResearchWebhooksStalled'],
  },
  'crs-tenants': { 'Slots in use': ['CallResearchShedding'] },
  'crs-limiter': {
    'Share of the fallback': ['CallResearchLimiterFallback'],
    'Connected to Redis': ['CallResearchRedisAway'],
  },
  'crs-database': {
    Errors: ['CallResearchDatabaseAway', 'CallResearchFeedHeld'],
    'Work at the pools': ['CallResearchDatabasePoolExhausted'],
  },
  'crs-imports': { 'Share refused': ['CallResearchImportRefusals'], 'Calls too old': ['CallResearchRetentionOverdue'] },
};
