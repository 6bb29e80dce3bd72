import { Module } from '@nestjs/common';
import { EventsController } from './events.controller.js';
import { EventsService } from './events.service.js';
import { RetentionService } from './retention.service.js';
import { SequencerService } from './sequencer.service.js';

@Module({
  controllers: [EventsController],
  providers: [EventsService, SequencerService, RetentionService],
  exports: [EventsService, SequencerService, RetentionService],
})
export class EventsModule {}
