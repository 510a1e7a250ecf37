import { tellStories } from '../../support/alert-stories/alert-story.ts';
import { messageStories } from '../../support/alert-stories/of-messages.ts';

tellStories(messageStories);
