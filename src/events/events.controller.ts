import { Get, Param, Query } from '@nestjs/common';
import { ApiExtraModels, ApiParam } from '@nestjs/swagger';
import { Heavy } from '../platform/http/admission.js';
import { MerchantController, MerchantId, Requires } from '../platform/http/decorators.js';
import { ApiProblems } from '../platform/openapi/decorators.js';
import { EventDto, EventPageDto, ListEventsDto } from './event.dto.js';
import { EventsService } from './events.service.js';

@ApiExtraModels(EventDto)
@MerchantController('events', 'events')
@Requires('events')
export class EventsController {
  constructor(private readonly events: EventsService) {}

  /**
   * Read the feed of events
   *
   * @remarks Returns the changes of orders and of customers' cashback in the order of their `sequence`, which has no
   * gaps: a consumer that stores `next_after` misses nothing. The service keeps events for 90 days by default;
   * an `after` below that returns 410 with the `oldest` sequence. `from` and `last` start with an event that is kept.
   */
  @Get()
  @Heavy()
  @ApiProblems.query('events_expired')
  listEvents(@MerchantId() merchantId: string, @Query() query: ListEventsDto): Promise<EventPageDto> {
    return this.events.list(merchantId, query);
  }

  /**
   * Read an event
   *
   * @remarks Returns an event of the feed by its ID, which is the `webhook-id` of its deliveries.
   */
  @Get(':id')
  @ApiParam({
    name: 'id',
    description: 'The event',
    schema: { type: 'string', pattern: '^evt_[0-9a-f-]{36}$', example: 'evt_0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10' },
  })
  @ApiProblems.read()
  getEvent(@MerchantId() merchantId: string, @Param('id') id: string): Promise<EventDto> {
    return this.events.get(merchantId, id);
  }
}
