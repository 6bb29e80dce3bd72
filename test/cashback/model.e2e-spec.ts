import { describeModel } from '../support/model/property.js';

describeModel({ sequences: 5, seconds: 8 });
