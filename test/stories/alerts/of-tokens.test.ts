import { tellStories } from '../../support/alert-stories/alert-story.ts';
import { tokenStories } from '../../support/alert-stories/of-tokens.ts';

tellStories(tokenStories);
