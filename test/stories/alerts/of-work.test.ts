import { tellStories } from '../../support/alert-stories/alert-story.ts';
import { workStories } from '../../support/alert-stories/of-work.ts';

tellStories(workStories);
