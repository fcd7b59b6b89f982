extension PasswordRules {
  /// Words that lists of leaked passwords agree on, folded. They have 8 characters or more, or are
  /// shorter words that people make longer by a tail. Left out is a word that is another word with
  /// a tail.
  ///
  /// From the list of John the Ripper (public domain), and from what is typed on keyboards in
  /// several languages.
  static let common: Set<String> = Set(
    """
    !@#$%^&* 00000000 0123456789 0987654321 10203040 102030405060 11111111 11112222 11223344
    1122334455 112233445566 11235813 12121212 12301230 123123123 123321123 12341234 123412345
    12344321 1234512345 123454321 12345678 123456789 1234567890 12345678910 123456789a 123456789q
    12345678a 1234567a 123456a 123456aa 123456abc 1234abcd 1234qwer 123abc 123go 123qwe 123qweasd
    12qwaszx 13131313 13579246 1357924680 147258369 147852369 1701d 1a2b3c 1chris 1kitty 1q2w3e
    1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx 1qaz2wsx3edc 1qazxsw2 1qw23e 20202020 21122112
    22222222 24682468 25802580 2kids 3bears 4runner 50cent 55555555 57chevy 66666666 69696969
    741852963 77777777 789456123 7dwarfs 87654321 88888888 987654321 99999999 999999999 a1234567
    a12345678 a123456789 a1b2c3d4 aa123456 aaaaaa aaliyah aardvark aaron abacab abbott abc12345
    abc123456 abc@1234 abcd1234 abcde abcdef abcdefg abigail absolut access accord account
    acropolis action active acura adidas admin administrator adrian adriana adrock aerobics africa
    agent airborne airwolf alaska albert alberto alejandra alejandro alexander alexandr alexandra
    alexis alfaro alfred alfredo alice alicia alien aliens alina aline alison allegro allen allison
    allstate aloha alpha alpine altamira althea altima alyssa amanda amazing amber amelia amelie
    america amigas amigos amistad amorcito amores amour anaconda anamaria anders anderson andre
    andrea andreea andrei andres andrew andromeda angel angela angeles angelica angelina angelito
    angelo angels angie angus animal animals anita anneli annette annie antares anthony antonio
    anything apache apollo apple applepie apples april aptiva aquarius aragorn archie ariana ariane
    ariel arizona arlene armando arnold arrow arsenal artemis arthur artist arturo asd123456
    asdf1234 asdf;lkj asdfasdf asdfg asdfgh asdfghjk asdfghjkl asdfjkl asdzxc123 ashlee ashley
    ashraf ashton aspen asshole assmunch asterix athena attila august austin autumn avalon avatar
    avenger avenir awesome ayelet aylmer azerty azertyuiop babes babyblue babyboo babyboy babydoll
    babyface babygirl babygurl babyko babylon5 babylove backup badboy badger badgirl bailey baller
    bambam bambi bamboo banana bananas bandit baraka barbara barbie barcelona barney barnyard
    barrett barry bartman baseball basil basket basketball bastard batista batman bayern bball
    beaches beagle beaner beanie beans bears beast beasty beatles beatrice beatriz beautiful beauty
    beaver beavis bebita becca beckham belgium belize bella belle belmont benfica benjamin benji
    benny benoit benson beowulf berlin bernard bernardo bernie berry bertha beryl bestfriend
    bestfriends betacam betsy betty bettyboop beyonce bharat bhebhe bianca bichon bigal bigben
    bigbird bigboss bigdog biggles bigmac bigman bigred biker bilbo billabong bills billy bimmer
    bingo binky biochem biology birdie birdy birthday biscuit bishop bismillah bitch biteme bitter
    blabla black blackjack blahblah blanche blazer blessed blessing blinds blink182 bliss blitz
    blizzard blonde blondie blood blowfish blowjob blowme bluebird blueeyes bluefish bluejean blues
    bluesky bobby bobcat bogart bogey bogus bombay bonita bonjour bonnie bonzo boobie booboo booger
    boogie boomer booster boots bootsie boris bosco boston boulder bourbon bowwow boxer boxers
    bradley brain branch brandi brandon brandy braves brazil brenda brent brewster brian brianna
    bridge bridges bright britain britney brittany broadway broken broker bronco bronte brooke
    brooklyn brother bruce bruno brutus bryan bubba bubble bubblegum bubbles bucks buddha buddy
    budgie buffalo buffett buffy bugsy bulldog bullet bulls bullshit bunny burns burton business
    buster butch butler butter buttercup butterfly butthead button buttons byron byteme c00per
    cactus caesar caitlin calendar calgary california calvin camaro camay camel camera cameron
    camila camille campbell camping canada cancer candy canela cannon cannondale canon cantik
    capricorn captain carbon cardinal carebear carlitos carlos carmen carnage carol carole carolina
    caroline carolyn carrie carrot carter cascade casey casper cassandra cassie castle catalina
    catalog catdog catfish catherine cathy catnip catwoman cccccc cecile cecilia celeste celica
    celine celtic celtics cement center cesar cessna chacha chainsaw challenge chameleon champion
    champs chance chandler chanel chang change changeit changeme chantal chaos chapman charger
    charity charles charlie charlotte charmed cheche cheerleader cheese chelsea cherry cheryl chess
    chester chevy cheyenne chiara chicago chichi chicken chico chiefs china chinacat chinook
    chiquita chivas chloe chocolat chocolate chouette chris chrisbrown christ christia christian
    christin christina christine christmas christoph christopher christy chronos chubby chuck
    church cicero cinder cinderella cindy cinema circuit cirque cirrus cisco civic civil claire
    clancy clapton clark clarkson class classroom claude claudel claudia cliff clipper clock cloclo
    clueless cobain cobra cocacola coffee colette colleen college colombia color colorado colors
    coltrane columbia comet commander company compaq compton computer concept concorde confused
    connect connie connor conrad content contrasena contraseña control cookie cookies cooking
    coolbean coolness cooper cooter copper corazon cordelia corky cornflake corona corrado corvette
    corwin cosmo cosmos cougar cougars country courier courtney cowboy cowboys coyote cracker craig
    crawford crazy creative crescent cricket cristian cristina cross crowley cruise crusader
    crystal cthulhu cuddles cuervo cunningham cupcake current curtis cuteako cuteme cutie cutiepie
    cutlass cyber cyclone cynthia cyrano daddy daddysgirl daedalus dagger daily daisie daisy dakota
    dallas damian dammit dance dancer dancing daniel daniela danielle danny daphne darkangel
    darkman darkness darkstar darling darren darryl darwin dasha database david davids daytek
    deadhead death debbie debian deborah december decker deedee deeznuts default delano delete
    delfin deliver delta demo1234 demon denali denis denise dennis denny depeche derek desert
    design desiree deskjet destiny detroit deutsch devil devine devon dexter dharma diablo diamond
    diamonds diana diane dianne dickens dickhead diego diesel digger digital dilbert dillweed
    dinamo dipper director disco disney dixie dixon doctor dodger dodgers dogbert doggy doitnow
    dollar dollars dolly dolphin dolphins dominic dominique domino donald donkey donna dontknow
    doogie dookie doors dorothy doudou dougie douglas downtown draft dragon dragonball dragonfly
    dreamer dreams driver drowssap duckie dudley dumbass dundee dustin dusty dutch dutchess dwight
    dylan e-mail eagle eagles easter eastern eclipse eddie edith edmund eduardo edward eeyore effie
    eieio eight einstein elaine electric element elephant elijah elissa elizabeth ellen elliot
    elsie elvis emerald emily eminem emmanuel emmitt empire energy engage england enigma enrique
    enter enterprise entropy erika escort estelle esther estrella estrellita etoile eugene europe
    evelyn example excalibur excel explore explorer export express facebook faculty fairview faith
    falcon familia family farmer farout farside fashion fatboy fatima faust fearless february
    feedback felipe felix fender fenris ferguson fernanda fernando ferrari ferret ferris fiction
    fidel figaro finance fiona fireball firebird fireman firenze first fisher fishes fishhead
    fishie fishing flamingo flanders flash fletch fletcher fleurs flight flipper flores florida
    flower flowerpot flowers floyd fluffy flute flyboy flyer foobar football forest forever fortune
    forum forward foster fountain foxtrot fozzie france francesco francine francis francisco
    francois frank franka frankie franklin freddie freddy frederic freebird freedom freeman french
    friday friend friends friendship friendster frisco fritz frodo froggie froggies froggy frogs
    front242 frontier fubar fucker fuckface fuckme fuckoff fucku fuckyou fugazi funguy funtime
    future gabby gabriel gabriela gabriell gaelic galaxy galileo gambit gambler games gammaphi
    ganda gandako gandalf gangsta gangster garcia garden garfield garfunkel gargoyle garlic garnet
    garth gasman gaston gateway gatita gatito gator geheim gemini general genesis genius george
    georgia gerald gerard german germany geronimo getout gfhjkm ggeorge ghbdtn ghost giants gibbons
    gibson gilbert gilgamesh gilles ginger giselle gizmo glenn glitter global gloria gmoney goaway
    goblin goblue gocougs godiva godzilla goethe gofish goforit golden goldfish golfer gollum
    goober good-luck goodluck goofy google goose gopher gordon gorgeous grace gracie graham gramps
    grandma grant graphic grateful gravis greed green greenday gregory gremlin greta gretchen
    gretel gretzky grizzly groovy grover grumpy guess guest guido guinness guitar gumby gundam
    gunner gustavo h2opolo hacker haggis hahaha hailey hallo halloween hallowell hamid hamilton
    hamlet hammer hanna hannah hansolo hanson happy happyday hardcore harley harold harriet harris
    harrison harry harrypotter harvard harvey haslo hawaii hawkeye hayden hazel health heart hearts
    heather heaven hector hedgehog heidi heikki helen helena helene hello hellohello hellokitty
    helper helpme hendrix henry herbert herman hermes hermosa hernandez hershey herzog heythere
    highland hilbert hilda hillary hiphop histoire history hithere hitler hobbes hobbit hockey
    holiday holly hollywood homebrew homer homerj honda honey honeyko hongkong hoops hoosier hootie
    horizon hornet horse horses hosehead hotdog hotmail hotrod hotstuff hottie house houston howard
    huang hudson hummer hunter huskies hydrogen ibanez icecream iceman idiot idontknow iforget
    iguana ihateyou ilmari ilovegod ilovehim ilovejesus iloveme iloveu iloveyou image imagine
    imissyou impact impala indian indiana indigo indonesia informix ingvar inlove insane inside
    insight instructor integra integral intern internet intrepid inuyasha iomega ireland irene
    irina irish irmeli ironman isaac isabel isabella isabelle isaiah island israel italia italy
    iubire iverson jackass jackie jackson jacob jaguar jakey jamaica james jamesbond jamie jamjam
    janet janice janine january japan jared jasmin jasmine jason jasper javier jayden jayjay jayson
    jazmin jeanette jeanne jeepster jeffrey jenifer jenni jennie jennifer jenny jensen jeremiah
    jeremy jerome jerry jersey jesse jessica jessie jester jesucristo jesus jesuschrist jethro
    jethrotull jewels jimbo jimbob jimmy joanie joanna joanne joelle johan johanna1 johncena johnny
    johnson joker jonathan jordan jordie jorge josee joseph joshua josie journey joyce jubilee
    judith juhani jules julia julian juliana julie julien juliet julius jumanji jumbo junebug
    junior juniper jupiter jussi justdoit justice justin justinbieber justine justme juventus
    kalamazoo kangaroo karen karin karina karine karla karma katerina katherine kathleen kathy
    katie katrina kayla keeper keepout keith keller kelly kelsey kendall kennedy kenneth kennwort
    kenny kerala kermit kerrya ketchup kevin kidder killer kimberly kingdom kingfish kings kisses
    kissme kitkat kitten kitty kittycat kkkkkk kleenex knicks knight koala kombat kramer kristen
    kristi kristin kristina kristine labtec lacrosse laddie ladybug lakers lalala lambda lamer
    lance larry laser laserjet laura laurel lauren laurie lawrence lawson lawyer leader leanne
    leblanc ledzep legal legend legolas leland lemon leonard leonardo leslie lestat lester letmein
    letter letters liberty libra library light lights liliana lilmama lincoln linda lindsay lindsey
    linkinpark linux lionel lionking lions lipgloss lissabon little liverpool liverpoolfc lizard
    lizzie lizzy lkjhgfdsa lloyd logan logger logical login logos loislane lokita lolipop lolita
    lollipop lollypop london lonely lonestar longer longhorn looking looney loren lorena lorna
    lorraine lorrie loser lotus louis louise lovebug lovelove lovely loveme lover loverboy lovers
    loves loveu loveya loveyou loving lucas lucia lucifer lucky lupita macha macintosh macross
    madalina maddie maddog madeline madison madmax madoka madonna maganda maggie magic magnum mahal
    mahalkita mahalko maiden mailer mailman maine major majordomo makeitso malcolm maldita malibu
    mallard mamita management manchester manson mantra manuel manutd marathon marcel march marcos
    marcus margaret margarita maria mariah marian mariana marie marielle marilyn marina marine
    mariner marino mario mariposa marisol marissa market marlboro marley marlon marshall martha
    martin martinez marty marvin maryjane master matrix matthew mattingly maurice mauricio maverick
    maxime maxine maxmax maxwell mayday meatloaf mechanic media medical megan meggie meister
    melanie melina melissa mellon melody melvin mememe memory memphis mensuck mercedes mercer
    mercury merde merlin merlot mermaid merrill metal metallic metallica mexico mhine miami miamor
    michael michal micheal michel michele michelle michigan michou mickel mickey micro microsoft
    midnight midori midvale midway mierda miguel mikael mikey milagros milano miles millenium
    miller millie million mindy minecraft minnie minou miracle mirage miranda miriam mirror misha
    mishka mission missy misty mitch mitchell mmmmmm mmouse mnbvcxz mobile mobydick modem molly
    molson mommy monday monet money monica monique monkey monkeys monopoly monroe monster montana
    montreal montrose monty moocow mookie moomoo moonbeam moore moose mopar morecats morgan moroni
    morpheus morris mortimer motdepasse mother motor motorola mountain mouse movies mowgli mozart
    muffin mulder munchkin murphy murray muscle music musica mustang mybaby mylife mylove myself
    myspace mysql123 nadia nadine nancy naomi napoleon naruto nascar nastya natalia natalie natasha
    nathan nation national nautica ncc1701d ncc1701e ne1410s nebraska nellie nelson nemesis nenita
    nermal nesbit nesbitt nestle netware network neutrino newaccount newcourt newlife newpass
    newton newuser newyork nguyen nicarao nicholas nichole nicklaus nicolas nicole nigel nightshade
    nightwing nikita nikki nimrod niners nintendo nirvana nissan nisse nokia nomore nopass noriko
    normal norman norton notebook nothing notused nouveau novell november noway nugget numbers
    nurse nursing nutmeg oatmeal oaxaca obiwan obsession ocean october office ohshit olive oliver
    olivia olivier ollie olsen omarion omega onedirection onelove online openup opera oracle orange
    oranges orchid oregon orion orlando orville oscar otter overkill oxford p@ssw0rd p@ssword
    paagal pacers pacific packard packer packers packrat paint painter paladin paloma pamela
    pancake panda pandora panget pangit panic pantera panther panthers paola paradigm paris parker
    parola parrot partner pasaway pascal pass1234 pass@1234 passion passw0rd passwd password
    passwort patches patricia patrick patriots patton paula pauline pavel payton peace peach
    peaches peanut peanuts pearl pearljam pebbles pedro peewee peggy pencil penelope penguin penny
    pentium people pepper pepsi percy perfect performa perry person peter peterk peterpan petey
    petunia phantom phialpha philip philips phillips phish phishy phoenix phone photo piano
    pianoman pianos picard picasso pickle picture pictures pierce pierre pigeon piglet pimpin
    pineapple pinkfloyd pinky pioneer pipeline pirate pisces pizza planet plato playboy player
    players playgirl please pluto poetic poetry pogiako poiuyt poiuytrewq pokemon polar polaris
    police politics pollito pomme pontiac poohbear pookey pookie poopoo popcorn popeye poppy
    porsche porter portland portugal postgres potter power praise prayer preciosa precious predator
    prelude premier preston pretty primus prince princesa princesita princess print printing
    prometheus property provider psalms psycho public puddin pulsar pumpkin punkin puppies puppy
    purple pussy pussycat pyramid python q123456789 q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 qazwsx
    qazwsxedc qazxswedc qq123456 quality quebec queen queenie quentin quest qwaszx qwe123456
    qweasdzxc qweqwe123 qwerasdf qwert qwerty qwertyui qwertyuiop qwertz qwertzuiop rabbit racer
    racerx rachel rachelle racoon radar radio rafael rafiki raiders rainbow raistlin raleigh ralph
    rambo rancid random randy ranger rangers raptor raquel rascal raspberry rastafarian ratio raven
    ravens raymond reality realmadrid rebecca rebelde redcloud reddog redfish redman redrum
    redskins redsox redwing redwood reggae reggie regina reliant remember remote renee renegade
    reptile republic rescue research revolution reynolds reznor rfvtgb rhino rhonda ricardo richard
    richards richmond ricky riley ripper ripple river roadrunner robbie robby robert roberto
    roberts robin robinhood robocop robotech robotics roche rocket rockie rocknroll rockon rocky
    rodeo rodrigo roger rogers roland rolex roman rommel ronald ronaldo ronnie rookie root1234
    rootbeer rootroot rosebud roses rosie rosita rossignol rotimi rouge roxana royal rufus rugby
    rugger runner running russell rusty ruthie ruthless sabbath sabina sabrina sadie safety saigon
    sailing sailor saint sakura salasana sales sally salmon salut samantha samiam sammie sammy
    sample sampson samsam samson samsung samuel sandi sandra sandy sanjose santa santiago santos
    saphire sapphire sarah sasha saskia sassy sasuke satori saturday saturn savage savannah saved
    sayang scarecrow scarface scarlet scarlett schnapps school science scooby scoobydoo scooter
    scorpio scorpion scotch scotland scott scottie scotty scout scouts scrooge scruffy scuba search
    seattle sebastian secret security seeker senha seoul september serena sergei sergey sergio
    server service services seven sexy1234 sexybitch sexygirl sexymama sexyme shadow shaggy shakira
    shalom shanghai shannon shanny shanti shaolin shark sharon shasta shawn shayne shazam sheba
    sheena sheila shelby shelley shelly shelter sherry shirley shithead shoes shogun shopping
    shorty shotgun sidekick sidney sierra sigmachi signal signature silver silvia simba simon
    simone simple simpsons simsim sinatra singer single sirius sister skate skater skeeter skibum
    skidoo skiing skipper skippy skittles skull skunk skydive skyler skyline skywalker slacker
    slayer sleepy slick slider slideshow slipknot smashing smegma smile smiles smiley smiths smitty
    smoke smokey smurfy snake snakes snapper snapple snickers sniper snoop snoopdog snoopy snowball
    snowflake snowman snowski snuffy soccer softball soleil solomon something sonic sonics sonny
    sophia sophie sound space spain spanky sparkle sparks sparky sparrow spartan spazz special
    speedo speedy spencer sphynx spider spiderman spike spirit spitfire spock sponge spongebob
    spooky spoon sporting sports spring sprite sprocket spunky spurs squash ssssss stacey stanley
    starbuck stargate starlight stars start starter startrek starwars station stealth steaua steel
    steele steelers stella steph stephani stephanie stephen stephi sterling steve steven stevens
    stewart stimpy sting stingray stinky stivers stocks stone storage storm stormy stranger strat
    strato strawberry stretch strong stuart student studio stumpy stupid success sucker suckme
    sugar sultan summer summit sunbird sundance sunday sunfire sunflower sunny sunrise sunset
    sunshine super superfly superman superstar support supra surfer surfing susan susana susanna
    sutton suzanne suzuki sverige swanson sweden sweet sweetheart sweetie sweetness sweetpea sweets
    sweety swimmer swimming switzer swoosh swordfish sydney sylvia sylvie symbol system t-bone
    tabatha tacobell taffy taiwan talon tamara tammy tamtam tango tanner tanya tapani targas target
    tarheel tarzan tasha tatiana tattoo taurus taylor tazdevil tazmania tbird teacher teamo techno
    teddy teddybear teflon teiubesc tekiero telecom temp1234 temporal temporary tennis tequiero
    tequila teresa terminal terry test1234 tester testi testing testtest texas thankyou theatre
    thebest theboss theend thejudge theking thelorax theresa thisisit thomas thompson thorne
    thrasher thumper thunder thunderbird thursday tiffany tiger tigers tigger tightend tigre timber
    timothy tinker tinkerbell tintin today tokiohotel tokyo tomcat tommy tootsie topcat topgun
    topher tornado toronto torres toshiba total tototo toucan toyota tracy training transfer
    transit transport trapper trash travel travis treasure trebor trees trevor tricia tricky
    trident trinity trish tristan triton trixie trojan trombone trophy trouble trout truck trucker
    truelove truman trumpet trustno1 tucker tucson tuesday turbo turtle tweety twilight twinkle
    twins tyler ubuntu ultimate undead undertaker unicorn unique united unity upsilon ursula
    user1234 utopia vacation vader valentin valentina valentine valeria valerie valhalla valley
    vampire vanessa vanilla vedder velvet venice venus vermont vernon veronica vette vfhbyf vicki
    vicky victor victoria victory video viking vikram vincent violet violin viper virago virgil
    virginia vision visual volcano volley volleyball volvo voodoo vortex voyager wachtwoord waiting
    walden waldo walker walleye wally walter wang123456 wanker warcraft warlock warner warren
    warrior warriors water waterloo watson wayne weasel webmaster webster wedge wednesday weezer
    welcome wendy wesley western westlife westside whatever wheels whisky white whitney whocares
    whoville wibble wilbur wildcat william williams willie willow willy wilma wilson window windows
    windsurf winner winnie winniethepooh winona winston winter wisdom wizard woaini wolfgang
    wolverine wolves wombat wonder woodrow woody woofwoof wordpass world wrangler wright wsxedc
    x-files x-men xanadu xanth xavier xcountry xfiles xxxxxx xxxxxxxx yamaha yankee yankees yellow
    yogibear yolanda yomama young yourmom yukon yvette yvonne zacefron zachary zapata zaphod
    zaq12wsx zaq1zaq1 zebra zebras zenith zephyr zeppelin zepplin zhongguo ziggy zigzag zoltan
    zombie zoomer zorro zxc123456 zxcasdqwe zxcvb zxcvbn zxcvbnm йцукен пароль
    """.split(whereSeparator: \.isWhitespace).map(String.init))
}
