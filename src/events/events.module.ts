import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { EventsController, WebhooksController } from './events.controller.js';
import { EventsService } from './events.service.js';
import { RetentionService } from './retention.service.js';
import { SequencerService } from './sequencer.service.js';
import { DeliveryService } from './webhook-delivery.service.js';
import { WebhookEndpointsService } from './webhook-endpoints.service.js';
import { WebhookSecrets } from './webhook-secrets.js';

const PROVIDERS = [
  EventsService,
  SequencerService,
  RetentionService,
  WebhookEndpointsService,
  DeliveryService,
  WebhookSecrets,
];

/** Merchants' feeds of events, also pushed to their webhook endpoints. */
@Module({
  imports: [AuthModule],
  controllers: [EventsController, WebhooksController],
  providers: PROVIDERS,
  exports: PROVIDERS,
})
export class EventsModule {}
