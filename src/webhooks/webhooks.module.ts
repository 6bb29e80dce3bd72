import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { DeliveryService } from './delivery.service.js';
import { WebhookEndpointsService } from './webhook-endpoints.service.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { WebhooksController } from './webhooks.controller.js';

/** The feed, pushed to merchants' webhook endpoints. */
@Module({
  imports: [EventsModule],
  controllers: [WebhooksController],
  providers: [WebhookEndpointsService, DeliveryService, WebhookSecrets],
  exports: [WebhookEndpointsService, DeliveryService, WebhookSecrets],
})
export class WebhooksModule {}
