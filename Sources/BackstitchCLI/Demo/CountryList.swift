/// Countries and their parts, for machines that have no package index.
///
/// The codes and names are those of ISO 3166-1 and ISO 3166-2.
enum CountryList {
    /// Alpha-2 code, alpha-3 code, number, name.
    static let countries = """
        AD | AND | 020 | Andorra
        AE | ARE | 784 | United Arab Emirates
        AF | AFG | 004 | Afghanistan
        AG | ATG | 028 | Antigua and Barbuda
        AI | AIA | 660 | Anguilla
        AL | ALB | 008 | Albania
        AM | ARM | 051 | Armenia
        AO | AGO | 024 | Angola
        AQ | ATA | 010 | Antarctica
        AR | ARG | 032 | Argentina
        AS | ASM | 016 | American Samoa
        AT | AUT | 040 | Austria
        AU | AUS | 036 | Australia
        AW | ABW | 533 | Aruba
        AX | ALA | 248 | Åland Islands
        AZ | AZE | 031 | Azerbaijan
        BA | BIH | 070 | Bosnia and Herzegovina
        BB | BRB | 052 | Barbados
        BD | BGD | 050 | Bangladesh
        BE | BEL | 056 | Belgium
        BF | BFA | 854 | Burkina Faso
        BG | BGR | 100 | Bulgaria
        BH | BHR | 048 | Bahrain
        BI | BDI | 108 | Burundi
        BJ | BEN | 204 | Benin
        BL | BLM | 652 | Saint Barthélemy
        BM | BMU | 060 | Bermuda
        BN | BRN | 096 | Brunei Darussalam
        BO | BOL | 068 | Bolivia, Plurinational State of
        BQ | BES | 535 | Bonaire, Sint Eustatius and Saba
        BR | BRA | 076 | Brazil
        BS | BHS | 044 | Bahamas
        BT | BTN | 064 | Bhutan
        BV | BVT | 074 | Bouvet Island
        BW | BWA | 072 | Botswana
        BY | BLR | 112 | Belarus
        BZ | BLZ | 084 | Belize
        CA | CAN | 124 | Canada
        CC | CCK | 166 | Cocos (Keeling) Islands
        CD | COD | 180 | Congo, The Democratic Republic of the
        CF | CAF | 140 | Central African Republic
        CG | COG | 178 | Congo
        CH | CHE | 756 | Switzerland
        CI | CIV | 384 | Côte d'Ivoire
        CK | COK | 184 | Cook Islands
        CL | CHL | 152 | Chile
        CM | CMR | 120 | Cameroon
        CN | CHN | 156 | China
        CO | COL | 170 | Colombia
        CR | CRI | 188 | Costa Rica
        CU | CUB | 192 | Cuba
        CV | CPV | 132 | Cabo Verde
        CW | CUW | 531 | Curaçao
        CX | CXR | 162 | Christmas Island
        CY | CYP | 196 | Cyprus
        CZ | CZE | 203 | Czechia
        DE | DEU | 276 | Germany
        DJ | DJI | 262 | Djibouti
        DK | DNK | 208 | Denmark
        DM | DMA | 212 | Dominica
        DO | DOM | 214 | Dominican Republic
        DZ | DZA | 012 | Algeria
        EC | ECU | 218 | Ecuador
        EE | EST | 233 | Estonia
        EG | EGY | 818 | Egypt
        EH | ESH | 732 | Western Sahara
        ER | ERI | 232 | Eritrea
        ES | ESP | 724 | Spain
        ET | ETH | 231 | Ethiopia
        FI | FIN | 246 | Finland
        FJ | FJI | 242 | Fiji
        FK | FLK | 238 | Falkland Islands (Malvinas)
        FM | FSM | 583 | Micronesia, Federated States of
        FO | FRO | 234 | Faroe Islands
        FR | FRA | 250 | France
        GA | GAB | 266 | Gabon
        GB | GBR | 826 | United Kingdom
        GD | GRD | 308 | Grenada
        GE | GEO | 268 | Georgia
        GF | GUF | 254 | French Guiana
        GG | GGY | 831 | Guernsey
        GH | GHA | 288 | Ghana
        GI | GIB | 292 | Gibraltar
        GL | GRL | 304 | Greenland
        GM | GMB | 270 | Gambia
        GN | GIN | 324 | Guinea
        GP | GLP | 312 | Guadeloupe
        GQ | GNQ | 226 | Equatorial Guinea
        GR | GRC | 300 | Greece
        GS | SGS | 239 | South Georgia and the South Sandwich Islands
        GT | GTM | 320 | Guatemala
        GU | GUM | 316 | Guam
        GW | GNB | 624 | Guinea-Bissau
        GY | GUY | 328 | Guyana
        HK | HKG | 344 | Hong Kong
        HM | HMD | 334 | Heard Island and McDonald Islands
        HN | HND | 340 | Honduras
        HR | HRV | 191 | Croatia
        HT | HTI | 332 | Haiti
        HU | HUN | 348 | Hungary
        ID | IDN | 360 | Indonesia
        IE | IRL | 372 | Ireland
        IL | ISR | 376 | Israel
        IM | IMN | 833 | Isle of Man
        IN | IND | 356 | India
        IO | IOT | 086 | British Indian Ocean Territory
        IQ | IRQ | 368 | Iraq
        IR | IRN | 364 | Iran, Islamic Republic of
        IS | ISL | 352 | Iceland
        IT | ITA | 380 | Italy
        JE | JEY | 832 | Jersey
        JM | JAM | 388 | Jamaica
        JO | JOR | 400 | Jordan
        JP | JPN | 392 | Japan
        KE | KEN | 404 | Kenya
        KG | KGZ | 417 | Kyrgyzstan
        KH | KHM | 116 | Cambodia
        KI | KIR | 296 | Kiribati
        KM | COM | 174 | Comoros
        KN | KNA | 659 | Saint Kitts and Nevis
        KP | PRK | 408 | Korea, Democratic People's Republic of
        KR | KOR | 410 | Korea, Republic of
        KW | KWT | 414 | Kuwait
        KY | CYM | 136 | Cayman Islands
        KZ | KAZ | 398 | Kazakhstan
        LA | LAO | 418 | Lao People's Democratic Republic
        LB | LBN | 422 | Lebanon
        LC | LCA | 662 | Saint Lucia
        LI | LIE | 438 | Liechtenstein
        LK | LKA | 144 | Sri Lanka
        LR | LBR | 430 | Liberia
        LS | LSO | 426 | Lesotho
        LT | LTU | 440 | Lithuania
        LU | LUX | 442 | Luxembourg
        LV | LVA | 428 | Latvia
        LY | LBY | 434 | Libya
        MA | MAR | 504 | Morocco
        MC | MCO | 492 | Monaco
        MD | MDA | 498 | Moldova, Republic of
        ME | MNE | 499 | Montenegro
        MF | MAF | 663 | Saint Martin (French part)
        MG | MDG | 450 | Madagascar
        MH | MHL | 584 | Marshall Islands
        MK | MKD | 807 | North Macedonia
        ML | MLI | 466 | Mali
        MM | MMR | 104 | Myanmar
        MN | MNG | 496 | Mongolia
        MO | MAC | 446 | Macao
        MP | MNP | 580 | Northern Mariana Islands
        MQ | MTQ | 474 | Martinique
        MR | MRT | 478 | Mauritania
        MS | MSR | 500 | Montserrat
        MT | MLT | 470 | Malta
        MU | MUS | 480 | Mauritius
        MV | MDV | 462 | Maldives
        MW | MWI | 454 | Malawi
        MX | MEX | 484 | Mexico
        MY | MYS | 458 | Malaysia
        MZ | MOZ | 508 | Mozambique
        NA | NAM | 516 | Namibia
        NC | NCL | 540 | New Caledonia
        NE | NER | 562 | Niger
        NF | NFK | 574 | Norfolk Island
        NG | NGA | 566 | Nigeria
        NI | NIC | 558 | Nicaragua
        NL | NLD | 528 | Netherlands
        NO | NOR | 578 | Norway
        NP | NPL | 524 | Nepal
        NR | NRU | 520 | Nauru
        NU | NIU | 570 | Niue
        NZ | NZL | 554 | New Zealand
        OM | OMN | 512 | Oman
        PA | PAN | 591 | Panama
        PE | PER | 604 | Peru
        PF | PYF | 258 | French Polynesia
        PG | PNG | 598 | Papua New Guinea
        PH | PHL | 608 | Philippines
        PK | PAK | 586 | Pakistan
        PL | POL | 616 | Poland
        PM | SPM | 666 | Saint Pierre and Miquelon
        PN | PCN | 612 | Pitcairn
        PR | PRI | 630 | Puerto Rico
        PS | PSE | 275 | Palestine, State of
        PT | PRT | 620 | Portugal
        PW | PLW | 585 | Palau
        PY | PRY | 600 | Paraguay
        QA | QAT | 634 | Qatar
        RE | REU | 638 | Réunion
        RO | ROU | 642 | Romania
        RS | SRB | 688 | Serbia
        RU | RUS | 643 | Russian Federation
        RW | RWA | 646 | Rwanda
        SA | SAU | 682 | Saudi Arabia
        SB | SLB | 090 | Solomon Islands
        SC | SYC | 690 | Seychelles
        SD | SDN | 729 | Sudan
        SE | SWE | 752 | Sweden
        SG | SGP | 702 | Singapore
        SH | SHN | 654 | Saint Helena, Ascension and Tristan da Cunha
        SI | SVN | 705 | Slovenia
        SJ | SJM | 744 | Svalbard and Jan Mayen
        SK | SVK | 703 | Slovakia
        SL | SLE | 694 | Sierra Leone
        SM | SMR | 674 | San Marino
        SN | SEN | 686 | Senegal
        SO | SOM | 706 | Somalia
        SR | SUR | 740 | Suriname
        SS | SSD | 728 | South Sudan
        ST | STP | 678 | Sao Tome and Principe
        SV | SLV | 222 | El Salvador
        SX | SXM | 534 | Sint Maarten (Dutch part)
        SY | SYR | 760 | Syrian Arab Republic
        SZ | SWZ | 748 | Eswatini
        TC | TCA | 796 | Turks and Caicos Islands
        TD | TCD | 148 | Chad
        TF | ATF | 260 | French Southern Territories
        TG | TGO | 768 | Togo
        TH | THA | 764 | Thailand
        TJ | TJK | 762 | Tajikistan
        TK | TKL | 772 | Tokelau
        TL | TLS | 626 | Timor-Leste
        TM | TKM | 795 | Turkmenistan
        TN | TUN | 788 | Tunisia
        TO | TON | 776 | Tonga
        TR | TUR | 792 | Türkiye
        TT | TTO | 780 | Trinidad and Tobago
        TV | TUV | 798 | Tuvalu
        TW | TWN | 158 | Taiwan, Province of China
        TZ | TZA | 834 | Tanzania, United Republic of
        UA | UKR | 804 | Ukraine
        UG | UGA | 800 | Uganda
        UM | UMI | 581 | United States Minor Outlying Islands
        US | USA | 840 | United States
        UY | URY | 858 | Uruguay
        UZ | UZB | 860 | Uzbekistan
        VA | VAT | 336 | Holy See (Vatican City State)
        VC | VCT | 670 | Saint Vincent and the Grenadines
        VE | VEN | 862 | Venezuela, Bolivarian Republic of
        VG | VGB | 092 | Virgin Islands, British
        VI | VIR | 850 | Virgin Islands, U.S.
        VN | VNM | 704 | Viet Nam
        VU | VUT | 548 | Vanuatu
        WF | WLF | 876 | Wallis and Futuna
        WS | WSM | 882 | Samoa
        YE | YEM | 887 | Yemen
        YT | MYT | 175 | Mayotte
        ZA | ZAF | 710 | South Africa
        ZM | ZMB | 894 | Zambia
        ZW | ZWE | 716 | Zimbabwe
        """

    /// Code, kind, name: the parts of some of the countries.
    static let subdivisions = """
        AT-1 | State | Burgenland
        AT-2 | State | Kärnten
        AT-3 | State | Niederösterreich
        AT-4 | State | Oberösterreich
        AT-5 | State | Salzburg
        AT-6 | State | Steiermark
        AT-7 | State | Tirol
        AT-8 | State | Vorarlberg
        AT-9 | State | Wien
        AU-ACT | Territory | Australian Capital Territory
        AU-NSW | State | New South Wales
        AU-NT | Territory | Northern Territory
        AU-QLD | State | Queensland
        AU-SA | State | South Australia
        AU-TAS | State | Tasmania
        AU-VIC | State | Victoria
        AU-WA | State | Western Australia
        BR-AC | State | Acre
        BR-AL | State | Alagoas
        BR-AM | State | Amazonas
        BR-AP | State | Amapá
        BR-BA | State | Bahia
        BR-CE | State | Ceará
        BR-DF | Federal district | Distrito Federal
        BR-ES | State | Espírito Santo
        BR-GO | State | Goiás
        BR-MA | State | Maranhão
        BR-MG | State | Minas Gerais
        BR-MS | State | Mato Grosso do Sul
        BR-MT | State | Mato Grosso
        BR-PA | State | Pará
        BR-PB | State | Paraíba
        BR-PE | State | Pernambuco
        BR-PI | State | Piauí
        BR-PR | State | Paraná
        BR-RJ | State | Rio de Janeiro
        BR-RN | State | Rio Grande do Norte
        BR-RO | State | Rondônia
        BR-RR | State | Roraima
        BR-RS | State | Rio Grande do Sul
        BR-SC | State | Santa Catarina
        BR-SE | State | Sergipe
        BR-SP | State | São Paulo
        BR-TO | State | Tocantins
        CA-AB | Province | Alberta
        CA-BC | Province | British Columbia
        CA-MB | Province | Manitoba
        CA-NB | Province | New Brunswick
        CA-NL | Province | Newfoundland and Labrador
        CA-NS | Province | Nova Scotia
        CA-NT | Territory | Northwest Territories
        CA-NU | Territory | Nunavut
        CA-ON | Province | Ontario
        CA-PE | Province | Prince Edward Island
        CA-QC | Province | Quebec
        CA-SK | Province | Saskatchewan
        CA-YT | Territory | Yukon
        CH-AG | Canton | Aargau
        CH-AI | Canton | Appenzell Innerrhoden
        CH-AR | Canton | Appenzell Ausserrhoden
        CH-BE | Canton | Bern
        CH-BL | Canton | Basel-Landschaft
        CH-BS | Canton | Basel-Stadt
        CH-FR | Canton | Freiburg
        CH-GE | Canton | Genève
        CH-GL | Canton | Glarus
        CH-GR | Canton | Graubünden
        CH-JU | Canton | Jura
        CH-LU | Canton | Luzern
        CH-NE | Canton | Neuchâtel
        CH-NW | Canton | Nidwalden
        CH-OW | Canton | Obwalden
        CH-SG | Canton | Sankt Gallen
        CH-SH | Canton | Schaffhausen
        CH-SO | Canton | Solothurn
        CH-SZ | Canton | Schwyz
        CH-TG | Canton | Thurgau
        CH-TI | Canton | Ticino
        CH-UR | Canton | Uri
        CH-VD | Canton | Vaud
        CH-VS | Canton | Valais
        CH-ZG | Canton | Zug
        CH-ZH | Canton | Zürich
        DE-BB | Land | Brandenburg
        DE-BE | Land | Berlin
        DE-BW | Land | Baden-Württemberg
        DE-BY | Land | Bayern
        DE-HB | Land | Bremen
        DE-HE | Land | Hessen
        DE-HH | Land | Hamburg
        DE-MV | Land | Mecklenburg-Vorpommern
        DE-NI | Land | Niedersachsen
        DE-NW | Land | Nordrhein-Westfalen
        DE-RP | Land | Rheinland-Pfalz
        DE-SH | Land | Schleswig-Holstein
        DE-SL | Land | Saarland
        DE-SN | Land | Sachsen
        DE-ST | Land | Sachsen-Anhalt
        DE-TH | Land | Thüringen
        FI-01 | Region | Åland
        FI-02 | Region | Etelä-Karjala
        FI-03 | Region | Etelä-Pohjanmaa
        FI-04 | Region | Etelä-Savo
        FI-05 | Region | Kainuu
        FI-06 | Region | Kanta-Häme
        FI-07 | Region | Keski-Pohjanmaa
        FI-08 | Region | Keski-Suomi
        FI-09 | Region | Kymenlaakso
        FI-10 | Region | Lappi
        FI-11 | Region | Pirkanmaa
        FI-12 | Region | Pohjanmaa
        FI-13 | Region | Pohjois-Karjala
        FI-14 | Region | Pohjois-Pohjanmaa
        FI-15 | Region | Pohjois-Savo
        FI-16 | Region | Päijät-Häme
        FI-17 | Region | Satakunta
        FI-18 | Region | Uusimaa
        FI-19 | Region | Varsinais-Suomi
        JP-01 | Prefecture | Hokkaido
        JP-02 | Prefecture | Aomori
        JP-03 | Prefecture | Iwate
        JP-04 | Prefecture | Miyagi
        JP-05 | Prefecture | Akita
        JP-06 | Prefecture | Yamagata
        JP-07 | Prefecture | Fukushima
        JP-08 | Prefecture | Ibaraki
        JP-09 | Prefecture | Tochigi
        JP-10 | Prefecture | Gunma
        JP-11 | Prefecture | Saitama
        JP-12 | Prefecture | Chiba
        JP-13 | Prefecture | Tokyo
        JP-14 | Prefecture | Kanagawa
        JP-15 | Prefecture | Niigata
        JP-16 | Prefecture | Toyama
        JP-17 | Prefecture | Ishikawa
        JP-18 | Prefecture | Fukui
        JP-19 | Prefecture | Yamanashi
        JP-20 | Prefecture | Nagano
        JP-21 | Prefecture | Gifu
        JP-22 | Prefecture | Shizuoka
        JP-23 | Prefecture | Aichi
        JP-24 | Prefecture | Mie
        JP-25 | Prefecture | Shiga
        JP-26 | Prefecture | Kyoto
        JP-27 | Prefecture | Osaka
        JP-28 | Prefecture | Hyogo
        JP-29 | Prefecture | Nara
        JP-30 | Prefecture | Wakayama
        JP-31 | Prefecture | Tottori
        JP-32 | Prefecture | Shimane
        JP-33 | Prefecture | Okayama
        JP-34 | Prefecture | Hiroshima
        JP-35 | Prefecture | Yamaguchi
        JP-36 | Prefecture | Tokushima
        JP-37 | Prefecture | Kagawa
        JP-38 | Prefecture | Ehime
        JP-39 | Prefecture | Kochi
        JP-40 | Prefecture | Fukuoka
        JP-41 | Prefecture | Saga
        JP-42 | Prefecture | Nagasaki
        JP-43 | Prefecture | Kumamoto
        JP-44 | Prefecture | Oita
        JP-45 | Prefecture | Miyazaki
        JP-46 | Prefecture | Kagoshima
        JP-47 | Prefecture | Okinawa
        NL-AW | Country | Aruba
        NL-BQ1 | Special municipality | Bonaire
        NL-BQ2 | Special municipality | Saba
        NL-BQ3 | Special municipality | Sint Eustatius
        NL-CW | Country | Curaçao
        NL-DR | Province | Drenthe
        NL-FL | Province | Flevoland
        NL-FR | Province | Fryslân
        NL-GE | Province | Gelderland
        NL-GR | Province | Groningen
        NL-LI | Province | Limburg
        NL-NB | Province | Noord-Brabant
        NL-NH | Province | Noord-Holland
        NL-OV | Province | Overijssel
        NL-SX | Country | Sint Maarten
        NL-UT | Province | Utrecht
        NL-ZE | Province | Zeeland
        NL-ZH | Province | Zuid-Holland
        PL-02 | Voivodship | Dolnośląskie
        PL-04 | Voivodship | Kujawsko-pomorskie
        PL-06 | Voivodship | Lubelskie
        PL-08 | Voivodship | Lubuskie
        PL-10 | Voivodship | Łódzkie
        PL-12 | Voivodship | Małopolskie
        PL-14 | Voivodship | Mazowieckie
        PL-16 | Voivodship | Opolskie
        PL-18 | Voivodship | Podkarpackie
        PL-20 | Voivodship | Podlaskie
        PL-22 | Voivodship | Pomorskie
        PL-24 | Voivodship | Śląskie
        PL-26 | Voivodship | Świętokrzyskie
        PL-28 | Voivodship | Warmińsko-mazurskie
        PL-30 | Voivodship | Wielkopolskie
        PL-32 | Voivodship | Zachodniopomorskie
        SE-AB | County | Stockholms län [SE-01]
        SE-AC | County | Västerbottens län [SE-24]
        SE-BD | County | Norrbottens län [SE-25]
        SE-C | County | Uppsala län [SE-03]
        SE-D | County | Södermanlands län [SE-04]
        SE-E | County | Östergötlands län [SE-05]
        SE-F | County | Jönköpings län [SE-06]
        SE-G | County | Kronobergs län [SE-07]
        SE-H | County | Kalmar län [SE-08]
        SE-I | County | Gotlands län [SE-09]
        SE-K | County | Blekinge län [SE-10]
        SE-M | County | Skåne län [SE-12]
        SE-N | County | Hallands län [SE-13]
        SE-O | County | Västra Götalands län [SE-14]
        SE-S | County | Värmlands län [SE-17]
        SE-T | County | Örebro län [SE-18]
        SE-U | County | Västmanlands län [SE-19]
        SE-W | County | Dalarnas län [SE-20]
        SE-X | County | Gävleborgs län [SE-21]
        SE-Y | County | Västernorrlands län [SE-22]
        SE-Z | County | Jämtlands län [SE-23]
        US-AK | State | Alaska
        US-AL | State | Alabama
        US-AR | State | Arkansas
        US-AS | Outlying area | American Samoa
        US-AZ | State | Arizona
        US-CA | State | California
        US-CO | State | Colorado
        US-CT | State | Connecticut
        US-DC | District | District of Columbia
        US-DE | State | Delaware
        US-FL | State | Florida
        US-GA | State | Georgia
        US-GU | Outlying area | Guam
        US-HI | State | Hawaii
        US-IA | State | Iowa
        US-ID | State | Idaho
        US-IL | State | Illinois
        US-IN | State | Indiana
        US-KS | State | Kansas
        US-KY | State | Kentucky
        US-LA | State | Louisiana
        US-MA | State | Massachusetts
        US-MD | State | Maryland
        US-ME | State | Maine
        US-MI | State | Michigan
        US-MN | State | Minnesota
        US-MO | State | Missouri
        US-MP | Outlying area | Northern Mariana Islands
        US-MS | State | Mississippi
        US-MT | State | Montana
        US-NC | State | North Carolina
        US-ND | State | North Dakota
        US-NE | State | Nebraska
        US-NH | State | New Hampshire
        US-NJ | State | New Jersey
        US-NM | State | New Mexico
        US-NV | State | Nevada
        US-NY | State | New York
        US-OH | State | Ohio
        US-OK | State | Oklahoma
        US-OR | State | Oregon
        US-PA | State | Pennsylvania
        US-PR | Outlying area | Puerto Rico
        US-RI | State | Rhode Island
        US-SC | State | South Carolina
        US-SD | State | South Dakota
        US-TN | State | Tennessee
        US-TX | State | Texas
        US-UM | Outlying area | United States Minor Outlying Islands
        US-UT | State | Utah
        US-VA | State | Virginia
        US-VI | Outlying area | Virgin Islands, U.S.
        US-VT | State | Vermont
        US-WA | State | Washington
        US-WI | State | Wisconsin
        US-WV | State | West Virginia
        US-WY | State | Wyoming
        """
}
